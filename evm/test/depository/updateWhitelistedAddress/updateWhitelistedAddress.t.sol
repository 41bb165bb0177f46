// SPDX-License-Identifier: MIT
pragma solidity 0.8.37;

import {IDepository} from "../../../src/IDepository.sol";
import {DepositoryTest} from "../DepositoryTest.sol";

contract UpdateWhitelistedAddressTest is DepositoryTest {
    function testFuzz_RevertWhen_TheCallerIsNotTheOwner(address caller) external {
        if (caller == owner) caller = stranger;
        expectNotOwner(caller);
        vm.prank(caller);
        depository.updateWhitelistedAddress(receiver, stranger);
    }

    function test_RevertWhen_BothReceiversAreTheSame() external {
        vm.expectRevert(IDepository.SameAddress.selector);
        _update(receiver, receiver);
    }

    function test_RevertWhen_TheNewReceiverIsZero() external {
        vm.expectRevert(IDepository.ZeroAddress.selector);
        _update(receiver, address(0));
    }

    function test_RevertWhen_TheNewReceiverIsTheDepository() external {
        vm.expectRevert(IDepository.InvalidReceiver.selector);
        _update(receiver, address(depository));
    }

    function test_RevertGiven_TheOldReceiverIsNotWhitelisted() external {
        vm.expectRevert(IDepository.NotWhitelisted.selector);
        _update(stranger, user);
    }

    function test_RevertGiven_TheNewReceiverIsWhitelisted() external {
        _approveReceiver(stranger);
        vm.expectRevert(IDepository.AlreadyWhitelisted.selector);
        _update(receiver, stranger);
    }

    function test_GivenOnlyTheOldReceiverIsWhitelisted() external {
        vm.expectEmit(address(depository));
        emit IDepository.RemovedFromWhitelist(receiver);
        vm.expectEmit(address(depository));
        emit IDepository.AddedToWhitelist(stranger);
        _update(receiver, stranger);

        address[] memory receivers = depository.getWhitelistedAddresses();
        assertEq(receivers.length, 1);
        assertEq(receivers[0], stranger);
    }

    function _update(address oldReceiver, address newReceiver) private {
        vm.prank(owner);
        depository.updateWhitelistedAddress(oldReceiver, newReceiver);
    }
}
