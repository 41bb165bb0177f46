// SPDX-License-Identifier: MIT
pragma solidity 0.8.37;

import {Pausable} from "@openzeppelin/contracts/utils/Pausable.sol";

import {ITreasury} from "../../../src/ITreasury.sol";
import {TreasuryTest} from "../TreasuryTest.sol";

contract TreasuryPauseTest is TreasuryTest {
    function testFuzz_RevertWhen_TheCallerIsNeitherOwnerNorGuardian(address caller) external {
        if (caller == owner || caller == guardian) caller = outsider;
        _refuse(caller);
    }

    function test_RevertWhen_TheCallerIsAnOperator() external {
        _refuse(operator);
    }

    function test_RevertGiven_ItIsPaused() external {
        _pause();
        vm.expectRevert(Pausable.EnforcedPause.selector);
        _pause();
    }

    function test_WhenTheCallerIsTheGuardian() external {
        vm.prank(guardian);
        treasury.pause();
        assertTrue(treasury.paused(), "paused");
    }

    function test_WhenTheCallerIsTheOwner() external {
        _pause();
        assertTrue(treasury.paused(), "paused");
    }

    function _refuse(address caller) private {
        vm.expectRevert(abi.encodeWithSelector(ITreasury.NotGuardian.selector, caller));
        vm.prank(caller);
        treasury.pause();
    }
}
