// SPDX-License-Identifier: MIT
pragma solidity 0.8.37;

import {Pausable} from "@openzeppelin/contracts/utils/Pausable.sol";

import {DepositoryTest} from "../DepositoryTest.sol";

contract DepositoryUnpauseTest is DepositoryTest {
    function testFuzz_RevertWhen_TheCallerIsNotTheOwner(address caller) external {
        if (caller == owner) caller = outsider;
        _pause();
        expectNotOwner(caller);
        vm.prank(caller);
        depository.unpause();
    }

    function test_RevertGiven_ItIsNotPaused() external {
        vm.expectRevert(Pausable.ExpectedPause.selector);
        vm.prank(owner);
        depository.unpause();
    }

    function test_GivenItIsPaused() external {
        _pause();
        vm.prank(owner);
        depository.unpause();

        _expectDeposited(address(0), receiver, 1);
        vm.prank(user);
        depository.depositNative{value: 1}(ID, receiver);
    }
}
