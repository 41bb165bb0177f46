// SPDX-License-Identifier: MIT
pragma solidity 0.8.37;

import {Pausable} from "@openzeppelin/contracts/utils/Pausable.sol";

import {DepositoryTest} from "../DepositoryTest.sol";

contract DepositoryPauseTest is DepositoryTest {
    function testFuzz_RevertWhen_TheCallerIsNotTheOwner(address caller) external {
        if (caller == owner) caller = outsider;
        expectNotOwner(caller);
        vm.prank(caller);
        depository.pause();
    }

    function test_RevertGiven_ItIsPaused() external {
        _pause();
        vm.expectRevert(Pausable.EnforcedPause.selector);
        _pause();
    }

    function test_GivenItIsNotPaused() external {
        vm.expectEmit(address(depository));
        emit Pausable.Paused(owner);
        _pause();
        assertTrue(depository.paused(), "paused");
    }
}
