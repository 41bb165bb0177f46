// SPDX-License-Identifier: MIT
pragma solidity 0.8.37;

import {Depository} from "../../../src/Depository.sol";
import {DepositoryTest} from "../DepositoryTest.sol";

contract AddToWhitelistTest is DepositoryTest {
    function testFuzz_RevertWhen_TheCallerIsNotTheOwner(address caller) external {
        if (caller == owner) caller = outsider;
        expectNotOwner(caller);
        vm.prank(caller);
        depository.addToWhitelist(outsider);
    }

    function test_RevertWhen_TheReceiverIsZero() external {
        vm.expectRevert(Depository.ZeroAddress.selector);
        _approveReceiver(address(0));
    }

    function test_RevertWhen_TheReceiverIsTheDepository() external {
        vm.expectRevert(Depository.InvalidReceiver.selector);
        _approveReceiver(address(depository));
    }

    function test_RevertGiven_TheReceiverIsWhitelisted() external {
        vm.expectRevert(Depository.AlreadyWhitelisted.selector);
        _approveReceiver(receiver);
    }

    function test_GivenTheReceiverIsNotWhitelisted() external {
        vm.expectEmit(address(depository));
        emit Depository.AddedToWhitelist(outsider);
        _approveReceiver(outsider);
        assertTrue(depository.isWhitelisted(outsider), "approved");
    }
}
