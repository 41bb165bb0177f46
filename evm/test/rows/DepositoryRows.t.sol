// SPDX-License-Identifier: MIT
pragma solidity 0.8.37;

import {IERC20} from "@openzeppelin/contracts/token/ERC20/IERC20.sol";

import {Depository} from "../../src/Depository.sol";
import {IDepository} from "../../src/IDepository.sol";
import {Vm} from "../Vm.sol";
import {ExtraSender} from "../actors/ExtraSender.sol";
import {Reenterer} from "../actors/Reenterer.sol";
import {DepositoryTest} from "../depository/DepositoryTest.sol";
import {FeeToken} from "../tokens/FeeToken.sol";
import {HookToken} from "../tokens/HookToken.sol";
import {RebaseToken} from "../tokens/RebaseToken.sol";
import {RowTest} from "./RowTest.sol";

contract DepositoryRowsTest is DepositoryTest, RowTest {
    function testFuzz_W18_ADepositOfATokenWithAFeeIsWhatTheReceiverGained(uint256 amount, uint256 feeBasisPoints)
        external
    {
        amount = between(amount, 1, 1_000_000e18);
        FeeToken fee = new FeeToken(between(feeBasisPoints, 1, 9999));
        fee.mint(user, amount);
        fee.mint(receiver, 1000e18);

        Vm.Log[] memory logs = _deposit(address(fee), amount);

        _assertToldOnce(logs, address(depository), Depository.Deposited.selector, fee.balanceOf(receiver) - 1000e18);
        assertAtMost(fee.balanceOf(receiver) - 1000e18, amount);
        assertEq(fee.balanceOf(address(depository)), 0);
    }

    function testFuzz_W18_ADepositOfATokenThatRebasesIsWhatTheReceiverGained(uint256 amount, uint256 index) external {
        amount = between(amount, 1000, type(uint96).max);
        RebaseToken rebasing = new RebaseToken();
        rebasing.mint(user, 4 * amount);
        rebasing.rebase(between(index, 0.5e18, 2e18));

        Vm.Log[] memory logs = _deposit(address(rebasing), amount);

        _assertToldOnce(logs, address(depository), Depository.Deposited.selector, rebasing.balanceOf(receiver));
        assertAtMost(rebasing.balanceOf(receiver), amount);
        assertEq(rebasing.balanceOf(address(depository)), 0);
    }

    function testFuzz_W19_WhatAHookSendsOnTopIsCountedOnce(uint256 amount, uint256 extra) external {
        amount = between(amount, 1, type(uint128).max);
        extra = between(extra, 1, type(uint128).max);
        HookToken hooked = new HookToken();
        ExtraSender sender = new ExtraSender(hooked);
        hooked.mint(address(sender), amount + extra);

        vm.recordLogs();
        sender.deposit(depository, ID, receiver, amount, extra);
        Vm.Log[] memory logs = vm.getRecordedLogs();

        (uint256 transfers, uint256 transferred) = _told(logs, address(hooked), IERC20.Transfer.selector);
        assertEq(transfers, 2);
        assertEq(transferred, amount + extra);
        _assertToldOnce(logs, address(depository), Depository.Deposited.selector, amount + extra);
        assertEq(hooked.balanceOf(receiver), amount + extra);
    }

    function test_G16_NoDepositIsMadeFromInsideOne() external {
        bytes[2] memory calls = [
            abi.encodeCall(IDepository.depositNative, (ID, receiver)),
            abi.encodeCall(IDepository.depositERC20, (ID, address(token), receiver, 40))
        ];
        address[2] memory hookHolders = [user, receiver];
        for (uint256 i; i < calls.length; ++i) {
            _refusesFromNativeValue(calls[i]);
            for (uint256 j; j < hookHolders.length; ++j) {
                _refusesFromAHook(hookHolders[j], calls[i]);
            }
        }
        assertEq(token.balanceOf(receiver), 0);
        assertEq(receiver.balance, 0);
    }

    function _refusesFromNativeValue(bytes memory data) private {
        Reenterer reenterer = _reenterer(data);
        _approveReceiver(address(reenterer));
        uint256 balanceBefore = address(reenterer).balance;

        _expectDeposited(address(0), address(reenterer), 1 ether);
        vm.prank(user);
        depository.depositNative{value: 1 ether}(ID, address(reenterer));

        _assertRefused(reenterer);
        assertEq(address(reenterer).balance, balanceBefore + 1 ether);
        assertEq(address(depository).balance, 0);
    }

    function _refusesFromAHook(address holder, bytes memory data) private {
        HookToken hooked = new HookToken();
        Reenterer reenterer = _reenterer(data);
        hooked.mint(user, 100);
        hooked.setHook(holder, reenterer);

        Vm.Log[] memory logs = _deposit(address(hooked), 100);

        _assertRefused(reenterer);
        _assertToldOnce(logs, address(depository), Depository.Deposited.selector, 100);
        assertEq(hooked.balanceOf(receiver), 100);
        assertEq(hooked.balanceOf(address(depository)), 0);
    }

    /// @dev It has the balance for its reentrant deposit, so that only the guard can refuse it.
    function _reenterer(bytes memory data) private returns (Reenterer reenterer) {
        reenterer = new Reenterer();
        token.mint(address(reenterer), 40);
        vm.prank(address(reenterer));
        token.approve(address(depository), 40);
        uint256 value = bytes4(data) == IDepository.depositNative.selector ? 40 : 0;
        vm.deal(address(reenterer), value);
        reenterer.plan(address(depository), data, value);
    }

    function _deposit(address token_, uint256 amount) private returns (Vm.Log[] memory) {
        vm.prank(user);
        IERC20(token_).approve(address(depository), amount);
        vm.recordLogs();
        vm.prank(user);
        depository.depositERC20(ID, token_, receiver, amount);
        return vm.getRecordedLogs();
    }
}
