// SPDX-License-Identifier: MIT
pragma solidity 0.8.37;

import {ITreasury} from "../../src/ITreasury.sol";
import {Reenterer} from "../actors/Reenterer.sol";
import {FeeToken} from "../tokens/FeeToken.sol";
import {HookToken} from "../tokens/HookToken.sol";
import {TreasuryTest} from "../treasury/TreasuryTest.sol";
import {RowTest} from "./RowTest.sol";

contract TreasuryRowsTest is TreasuryTest, RowTest {
    uint256 private constant _SECOND = INTENT + 1;

    function testFuzz_W18_AnUnlistedTokenIsNotPaidOut(uint256 amount) external {
        FeeToken fee = new FeeToken(100);
        amount = between(amount, 1, type(uint128).max);
        fee.mint(address(treasury), amount);

        vm.expectRevert(
            abi.encodeWithSelector(ITreasury.OutflowLimitExceeded.selector, address(fee), amount, uint256(0))
        );
        _pay(INTENT, address(fee), recipient, amount);
    }

    function test_G16_NoPaymentIsMadeFromInsideOne() external {
        ITreasury.Payment[] memory second = new ITreasury.Payment[](1);
        second[0] = _payment(_SECOND, address(token), recipient, 1e6);
        bytes[2] memory calls = [
            abi.encodeCall(ITreasury.pay, (_SECOND, address(token), recipient, 1e6)),
            abi.encodeCall(ITreasury.payBatch, (second))
        ];
        for (uint256 i; i < calls.length; ++i) {
            _refusesFromNativeValue(3 * i, calls[i]);
            _refusesFromAHook(3 * i + 1, recipient, calls[i]);
            _refusesFromAHook(3 * i + 2, address(treasury), calls[i]);
        }
        assertTrue(!treasury.isPaid(_SECOND), "the second intent is not paid");
        assertEq(token.balanceOf(recipient), 0);
    }

    function _refusesFromNativeValue(uint256 intentId, bytes memory data) private {
        Reenterer reenterer = _reenterer(data);
        uint256 inventory = address(treasury).balance;

        _expectPaid(intentId, NATIVE, address(reenterer), 1 ether);
        _pay(intentId, NATIVE, address(reenterer), 1 ether);

        _assertRefused(reenterer);
        assertEq(address(treasury).balance, inventory - 1 ether);
    }

    function _refusesFromAHook(uint256 intentId, address holder, bytes memory data) private {
        HookToken hooked = new HookToken();
        hooked.mint(address(treasury), 100);
        _limit(address(hooked), NO_LIMIT, 0);
        Reenterer reenterer = _reenterer(data);
        hooked.setHook(holder, reenterer);

        _expectPaid(intentId, address(hooked), recipient, 60);
        _pay(intentId, address(hooked), recipient, 60);

        _assertRefused(reenterer);
        assertEq(hooked.balanceOf(recipient), 60);
        assertEq(hooked.balanceOf(address(treasury)), 40);
    }

    /// @dev It is an operator, so that only the guard can refuse it.
    function _reenterer(bytes memory data) private returns (Reenterer reenterer) {
        reenterer = new Reenterer();
        vm.prank(owner);
        treasury.addOperator(address(reenterer));
        reenterer.plan(address(treasury), data, 0);
    }
}
