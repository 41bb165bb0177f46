// SPDX-License-Identifier: MIT
pragma solidity 0.8.37;

import {ITreasury} from "../../../src/ITreasury.sol";
import {Reenterer} from "../../actors/Reenterer.sol";
import {BlockToken} from "../../tokens/BlockToken.sol";
import {TreasuryTest} from "../TreasuryTest.sol";

contract WithdrawTest is TreasuryTest {
    function testFuzz_RevertWhen_TheCallerIsNotTheOwner(address caller) external {
        if (caller == owner) caller = operator;
        expectNotOwner(caller);
        vm.prank(caller);
        treasury.withdraw(address(token), caller, 1);
    }

    function test_RevertWhen_TheRecipientIsZero() external {
        _expectInvalid(address(0), 1);
        _withdraw(address(token), address(0), 1);
    }

    function test_RevertWhen_TheRecipientIsTheTreasury() external {
        _expectInvalid(address(treasury), 1);
        _withdraw(address(token), address(treasury), 1);
    }

    function test_RevertWhen_TheAmountIsZero() external {
        _expectInvalid(recipient, 0);
        _withdraw(address(token), recipient, 0);
    }

    function test_RevertGiven_TheInventoryIsTooSmall() external {
        vm.expectRevert(abi.encodeWithSelector(ITreasury.WithdrawalFailed.selector, NATIVE, recipient, 1001 ether));
        _withdraw(NATIVE, recipient, 1001 ether);
    }

    function test_GivenTheRecipientCallsBack() external {
        Reenterer reenterer = new Reenterer();
        vm.prank(owner);
        treasury.addOperator(address(reenterer));
        reenterer.plan(
            address(treasury), abi.encodeCall(ITreasury.pay, (INTENT, NATIVE, address(reenterer), 1 ether)), 0
        );
        _withdraw(NATIVE, address(reenterer), 1 ether);
        assertTrue(reenterer.tried() && !reenterer.succeeded(), "the call back is refused");
        assertEq(address(treasury).balance, 999 ether);
    }

    function test_GivenItIsPaused() external {
        _pause();
        _withdraw(address(token), recipient, 1e6);
        assertEq(token.balanceOf(recipient), 1e6);
    }

    function test_GivenTheTokenHasNoLimitSet() external {
        BlockToken unlisted = new BlockToken();
        unlisted.mint(address(treasury), 100);
        _withdraw(address(unlisted), recipient, 100);
        assertEq(unlisted.balanceOf(recipient), 100);
    }

    function testFuzz_GivenTheInventorySuffices(uint256 amount, bool native) external {
        address chosen = native ? NATIVE : address(token);
        amount = between(amount, 1, native ? 1000 ether : 1_000_000e6);
        _limit(chosen, 5, 1 days);

        vm.expectEmit(address(treasury));
        emit ITreasury.Withdrawn(chosen, recipient, amount);
        _withdraw(chosen, recipient, amount);

        assertEq(native ? recipient.balance : token.balanceOf(recipient), amount);
        assertEq(treasury.outflowAvailable(chosen), 5);
    }

    function _withdraw(address token_, address to, uint256 amount) private {
        vm.prank(owner);
        treasury.withdraw(token_, to, amount);
    }

    function _expectInvalid(address to, uint256 amount) private {
        vm.expectRevert(abi.encodeWithSelector(ITreasury.InvalidWithdrawal.selector, address(token), to, amount));
    }
}
