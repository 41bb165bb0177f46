// SPDX-License-Identifier: MIT
pragma solidity 0.8.37;

import {Pausable} from "@openzeppelin/contracts/utils/Pausable.sol";
import {ReentrancyGuardTransient} from "@openzeppelin/contracts/utils/ReentrancyGuardTransient.sol";

import {IOperators} from "../../../src/IOperators.sol";
import {ITreasury} from "../../../src/ITreasury.sol";
import {DevToken} from "../../../src/dev/DevToken.sol";
import {Refuser} from "../../actors/Receivers.sol";
import {Reenterer} from "../../actors/Reenterer.sol";
import {TreasuryTest} from "../TreasuryTest.sol";

contract PayBatchTest is TreasuryTest {
    function testFuzz_RevertWhen_TheCallerIsNotAnOperator(address caller) external {
        if (caller == operator) caller = owner;
        vm.expectRevert(abi.encodeWithSelector(IOperators.NotOperator.selector, caller));
        vm.prank(caller);
        treasury.payBatch(_two(1, 2));
    }

    function test_RevertWhen_Paused() external {
        _pause();
        vm.expectRevert(Pausable.EnforcedPause.selector);
        _payBatch(_two(1, 2));
    }

    function test_WhenTheBatchIsEmpty() external {
        vm.recordLogs();
        _payBatch(new ITreasury.Payment[](0));
        assertEq(vm.getRecordedLogs().length, 0);
    }

    function test_RevertWhen_AnIntentAppearsTwice() external {
        vm.expectRevert(abi.encodeWithSelector(ITreasury.AlreadyPaid.selector, 1));
        _payBatch(_two(1, 1));
    }

    function test_RevertWhen_ARecipientIsZero() external {
        ITreasury.Payment[] memory payments = _two(1, 2);
        payments[1].to = address(0);
        vm.expectRevert(abi.encodeWithSelector(ITreasury.InvalidPayment.selector, 2, address(0), 1e6));
        _payBatch(payments);
    }

    function test_RevertWhen_AnAmountIsZero() external {
        ITreasury.Payment[] memory payments = _two(1, 2);
        payments[1].amount = 0;
        vm.expectRevert(abi.encodeWithSelector(ITreasury.InvalidPayment.selector, 2, recipient, 0));
        _payBatch(payments);
    }

    function test_RevertWhen_TheAmountsOverflow() external {
        ITreasury.Payment[] memory payments = _two(1, 2);
        payments[1].amount = type(uint256).max;
        vm.expectRevert(abi.encodeWithSignature("Panic(uint256)", 0x11));
        _payBatch(payments);
    }

    function test_RevertGiven_AnIntentWasPaidBefore() external {
        _pay(2, address(token), recipient, 1);
        vm.expectRevert(abi.encodeWithSelector(ITreasury.AlreadyPaid.selector, 2));
        _payBatch(_two(1, 2));
        assertTrue(!treasury.isPaid(1), "the other intent is not paid");
    }

    function test_RevertGiven_TheSumOfATokenIsAboveWhatMayFlowOut() external {
        _limit(address(token), 2e6 - 1, 1 days);
        _expectExceeded(address(token), 2e6, 2e6 - 1);
        _payBatch(_two(1, 2));
    }

    function test_RevertGiven_TheSumOfATokenIsAboveItInSeparateRuns() external {
        _limit(address(token), 2e6 - 1, 1 days);
        ITreasury.Payment[] memory payments = new ITreasury.Payment[](3);
        payments[0] = _payment(1, address(token), recipient, 1e6);
        payments[1] = _payment(2, NATIVE, recipient, 1);
        payments[2] = _payment(3, address(token), recipient, 1e6);
        _expectExceeded(address(token), 1e6, 1e6 - 1);
        _payBatch(payments);
    }

    function test_RevertGiven_OnePaymentFails() external {
        address refuser = address(new Refuser());
        ITreasury.Payment[] memory payments = _two(1, 2);
        payments[1] = _payment(2, NATIVE, refuser, 1 ether);
        _expectPaymentFailed(2, NATIVE, refuser, 1 ether);
        _payBatch(payments);

        assertTrue(!treasury.isPaid(1) && !treasury.isPaid(2), "no intent is paid");
        assertEq(token.balanceOf(recipient), 0);
    }

    function test_GivenARecipientCallsBack() external {
        Reenterer reenterer = new Reenterer();
        vm.prank(owner);
        treasury.addOperator(address(reenterer));
        ITreasury.Payment[] memory payments = _two(1, 2);
        payments[0] = _payment(1, NATIVE, address(reenterer), 1 ether);
        reenterer.plan(address(treasury), abi.encodeCall(ITreasury.payBatch, (_two(2, 3))), 0);

        _payBatch(payments);

        assertTrue(reenterer.tried() && !reenterer.succeeded(), "the call back is refused");
        assertTrue(
            reenterer.errorSelector() == ReentrancyGuardTransient.ReentrancyGuardReentrantCall.selector, "for being one"
        );
        assertEq(token.balanceOf(recipient), 1e6);
        assertTrue(!treasury.isPaid(3), "its own intent is not paid");
    }

    function testFuzz_GivenEveryPaymentCanBeMade(uint256 seed, uint256 length) external {
        length = between(length, 1, 30);
        DevToken other = new DevToken("Dai", "DAI", 18, address(treasury), 1_000_000e18);
        address[3] memory tokens = [address(token), address(other), NATIVE];
        _limit(address(token), 1e12, 1 days);
        _limit(address(other), 1e24, 1 days);
        _limit(NATIVE, 1000 ether, 1 days);

        ITreasury.Payment[] memory payments = new ITreasury.Payment[](length);
        uint256[3] memory sums;
        for (uint256 i; i < length; ++i) {
            uint256 random = uint256(keccak256(abi.encode(seed, i)));
            uint256 amount = between(random >> 8, 1, 1e9);
            payments[i] = _payment(random, tokens[random % 3], _recipient(i), amount);
            sums[random % 3] += amount;
        }
        for (uint256 i; i < length; ++i) {
            _expectPaid(payments[i].intentId, payments[i].token, payments[i].to, payments[i].amount);
        }
        _payBatch(payments);

        for (uint256 i; i < length; ++i) {
            address paidIn = payments[i].token;
            assertTrue(treasury.isPaid(payments[i].intentId), "paid");
            assertEq(
                paidIn == NATIVE ? _recipient(i).balance : DevToken(paidIn).balanceOf(_recipient(i)), payments[i].amount
            );
        }
        assertEq(treasury.outflowAvailable(address(token)), 1e12 - sums[0]);
        assertEq(treasury.outflowAvailable(address(other)), 1e24 - sums[1]);
        assertEq(treasury.outflowAvailable(NATIVE), 1000 ether - sums[2]);
    }

    function _two(uint256 first, uint256 second) private view returns (ITreasury.Payment[] memory payments) {
        payments = new ITreasury.Payment[](2);
        payments[0] = _payment(first, address(token), recipient, 1e6);
        payments[1] = _payment(second, address(token), recipient, 1e6);
    }

    function _recipient(uint256 i) private pure returns (address) {
        return address(uint160(uint256(keccak256(abi.encode("recipient", i)))));
    }

    function _payBatch(ITreasury.Payment[] memory payments) private {
        vm.prank(operator);
        treasury.payBatch(payments);
    }

    function _expectExceeded(address token_, uint256 amount, uint256 available) private {
        vm.expectRevert(abi.encodeWithSelector(ITreasury.OutflowLimitExceeded.selector, token_, amount, available));
    }
}
