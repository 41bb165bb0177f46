// SPDX-License-Identifier: MIT
pragma solidity 0.8.37;

import {Pausable} from "@openzeppelin/contracts/utils/Pausable.sol";

import {TreasuryTest} from "../TreasuryTest.sol";

contract TreasuryUnpauseTest is TreasuryTest {
    function testFuzz_RevertWhen_TheCallerIsNotTheOwner(address caller) external {
        if (caller == owner) caller = outsider;
        _refuse(caller);
    }

    function test_RevertWhen_TheCallerIsTheGuardian() external {
        _refuse(guardian);
    }

    function test_RevertGiven_ItIsNotPaused() external {
        vm.expectRevert(Pausable.ExpectedPause.selector);
        vm.prank(owner);
        treasury.unpause();
    }

    function test_GivenItIsPaused() external {
        _pause();
        vm.prank(owner);
        treasury.unpause();
        _pay(INTENT, address(token), recipient, 1);
        assertEq(token.balanceOf(recipient), 1);
    }

    function _refuse(address caller) private {
        _pause();
        expectNotOwner(caller);
        vm.prank(caller);
        treasury.unpause();
    }
}
