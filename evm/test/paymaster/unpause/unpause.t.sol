// SPDX-License-Identifier: MIT
pragma solidity 0.8.37;

import {Pausable} from "@openzeppelin/contracts/utils/Pausable.sol";

import {IPaymaster} from "../../../src/IPaymaster.sol";
import {PaymasterTest} from "../PaymasterTest.sol";

contract PaymasterUnpauseTest is PaymasterTest {
    function testFuzz_RevertWhen_TheCallerIsNotTheOwner(address caller) external {
        if (caller == owner) caller = outsider;
        _pause();
        expectNotOwner(caller);
        vm.prank(caller);
        paymaster.unpause();
    }

    function test_RevertGiven_ItIsNotPaused() external {
        vm.expectRevert(Pausable.ExpectedPause.selector);
        vm.prank(owner);
        paymaster.unpause();
    }

    function test_GivenItIsPaused() external {
        _pause();
        vm.prank(owner);
        paymaster.unpause();

        IPaymaster.Deposit memory deposit = _deposit(address(dai), 100);
        Signature memory signed = _permit(deposit, 0);
        _expectDeposited(deposit);
        _depositWithPermit(deposit, 0, signed);
    }
}
