// SPDX-License-Identifier: MIT
pragma solidity 0.8.37;

import {Depository} from "../../../src/Depository.sol";
import {DepositoryTest} from "../DepositoryTest.sol";

contract DepositoryConstructorTest is DepositoryTest {
    function test_RevertWhen_TheOwnerIsZero() external {
        vm.expectRevert(abi.encodeWithSignature("OwnableInvalidOwner(address)", address(0)));
        new Depository(address(0), _one(receiver));
    }

    function test_RevertWhen_AReceiverIsZero() external {
        vm.expectRevert(Depository.ZeroAddress.selector);
        new Depository(owner, _one(address(0)));
    }

    function test_RevertWhen_AReceiverIsGivenTwice() external {
        address[] memory receivers = new address[](2);
        (receivers[0], receivers[1]) = (receiver, receiver);
        vm.expectRevert(Depository.AlreadyWhitelisted.selector);
        new Depository(owner, receivers);
    }

    function test_WhenThereIsNoReceiver() external {
        Depository empty = new Depository(owner, new address[](0));
        assertEq(empty.getWhitelistedAddresses().length, 0);
    }

    function test_WhenTheReceiversAreDistinct() external {
        address[] memory receivers = new address[](2);
        (receivers[0], receivers[1]) = (receiver, outsider);
        Depository two = new Depository(owner, receivers);

        assertTrue(two.isWhitelisted(receiver) && two.isWhitelisted(outsider), "both are approved");
        assertEq(two.owner(), owner);
    }
}
