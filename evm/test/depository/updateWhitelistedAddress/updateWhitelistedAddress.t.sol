// SPDX-License-Identifier: MIT
pragma solidity 0.8.37;

import {Depository} from "../../../src/Depository.sol";
import {DepositoryTest} from "../DepositoryTest.sol";

contract UpdateWhitelistedAddressTest is DepositoryTest {
    function testFuzz_RevertWhen_TheCallerIsNotTheOwner(address caller) external {
        if (caller == owner) caller = outsider;
        expectNotOwner(caller);
        vm.prank(caller);
        depository.updateWhitelistedAddress(receiver, outsider);
    }

    function test_RevertWhen_BothReceiversAreTheSame() external {
        vm.expectRevert(Depository.SameAddress.selector);
        _update(receiver, receiver);
    }

    function test_RevertWhen_TheNewReceiverIsZero() external {
        vm.expectRevert(Depository.ZeroAddress.selector);
        _update(receiver, address(0));
    }

    function test_RevertWhen_TheNewReceiverIsTheDepository() external {
        vm.expectRevert(Depository.InvalidReceiver.selector);
        _update(receiver, address(depository));
    }

    function test_RevertGiven_TheOldReceiverIsNotWhitelisted() external {
        vm.expectRevert(Depository.NotWhitelisted.selector);
        _update(outsider, user);
    }

    function test_RevertGiven_TheNewReceiverIsWhitelisted() external {
        _approveReceiver(outsider);
        vm.expectRevert(Depository.AlreadyWhitelisted.selector);
        _update(receiver, outsider);
    }

    function test_GivenOnlyTheOldReceiverIsWhitelisted() external {
        vm.expectEmit(address(depository));
        emit Depository.RemovedFromWhitelist(receiver);
        vm.expectEmit(address(depository));
        emit Depository.AddedToWhitelist(outsider);
        _update(receiver, outsider);

        address[] memory receivers = depository.getWhitelistedAddresses();
        assertEq(receivers.length, 1);
        assertEq(receivers[0], outsider);
    }

    function _update(address oldReceiver, address newReceiver) private {
        vm.prank(owner);
        depository.updateWhitelistedAddress(oldReceiver, newReceiver);
    }
}
