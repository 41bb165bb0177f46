// SPDX-License-Identifier: MIT
pragma solidity 0.8.37;

import {Pausable} from "@openzeppelin/contracts/utils/Pausable.sol";
import {ReentrancyGuardTransient} from "@openzeppelin/contracts/utils/ReentrancyGuardTransient.sol";

import {IOperators} from "../../../src/IOperators.sol";
import {ITreasury} from "../../../src/ITreasury.sol";
import {GasBurner, LongAnswerer, Refuser} from "../../actors/Receivers.sol";
import {Reenterer} from "../../actors/Reenterer.sol";
import {BlockToken} from "../../tokens/BlockToken.sol";
import {FalseToken} from "../../tokens/FalseToken.sol";
import {FeeToken} from "../../tokens/FeeToken.sol";
import {HookToken} from "../../tokens/HookToken.sol";
import {NoReturnToken} from "../../tokens/NoReturnToken.sol";
import {TreasuryTest} from "../TreasuryTest.sol";

contract PayTest is TreasuryTest {
    function testFuzz_RevertWhen_TheCallerIsNotAnOperator(address caller) external {
        if (caller == operator) caller = owner;
        vm.expectRevert(abi.encodeWithSelector(IOperators.NotOperator.selector, caller));
        vm.prank(caller);
        treasury.pay(INTENT, address(token), recipient, 1);
    }

    function test_RevertWhen_Paused() external {
        _pause();
        vm.expectRevert(Pausable.EnforcedPause.selector);
        _pay(INTENT, address(token), recipient, 1);
    }

    function test_RevertWhen_TheRecipientIsZero() external {
        _expectInvalid(address(0), 1);
        _pay(INTENT, address(token), address(0), 1);
    }

    function test_RevertWhen_TheRecipientIsTheTreasury() external {
        _expectInvalid(address(treasury), 1);
        _pay(INTENT, NATIVE, address(treasury), 1);
    }

    function test_RevertWhen_TheAmountIsZero() external {
        _expectInvalid(recipient, 0);
        _pay(INTENT, address(token), recipient, 0);
    }

    function testFuzz_RevertGiven_TheIntentIsPaid(uint256 intentId, address to, uint256 amount) external {
        _pay(intentId, address(token), recipient, 1);
        if (to == address(0) || to == address(treasury)) to = recipient;
        vm.expectRevert(abi.encodeWithSelector(ITreasury.AlreadyPaid.selector, intentId));
        _pay(intentId, NATIVE, to, between(amount, 1, 1000 ether));
    }

    function test_RevertGiven_TheTokenHasNoLimitSet() external {
        BlockToken unlisted = new BlockToken();
        unlisted.mint(address(treasury), 100);
        _expectExceeded(address(unlisted), 1, 0);
        _pay(INTENT, address(unlisted), recipient, 1);
    }

    function testFuzz_RevertGiven_TheAmountIsAboveWhatMayFlowOut(uint256 limit, uint256 amount) external {
        limit = between(limit, 1, 1e12);
        amount = between(amount, limit + 1, type(uint256).max);
        _limit(address(token), limit, 1 days);
        _expectExceeded(address(token), amount, limit);
        _pay(INTENT, address(token), recipient, amount);
    }

    function testFuzz_GivenTheAmountIsWithinWhatMayFlowOut(uint256 limit, uint256 amount) external {
        limit = between(limit, 1, 1e12);
        amount = between(amount, 1, limit);
        _limit(address(token), limit, 1 days);
        _pay(INTENT, address(token), recipient, amount);
        assertEq(treasury.outflowAvailable(address(token)), limit - amount);
    }

    /* NATIVE */

    function test_RevertGiven_TheRecipientRefusesTheValue() external {
        address refuser = address(new Refuser());
        _expectPaymentFailed(INTENT, NATIVE, refuser, 1 ether);
        _pay(INTENT, NATIVE, refuser, 1 ether);
    }

    function test_RevertGiven_TheRecipientBurnsAllTheGas() external {
        address burner = address(new GasBurner());
        _expectPaymentFailed(INTENT, NATIVE, burner, 1 ether);
        vm.prank(operator);
        treasury.pay{gas: 1_000_000}(INTENT, NATIVE, burner, 1 ether);
    }

    function test_GivenTheRecipientAnswersAtLength() external {
        address payable answerer = payable(new LongAnswerer());
        uint256 gasOfTheAnswer = gasleft();
        bool sent = _callWithoutReading(answerer);
        gasOfTheAnswer -= gasleft();
        assertTrue(sent, "the answer comes");

        uint256 gasOfThePayment = gasleft();
        _pay(INTENT, NATIVE, answerer, 1 ether);
        gasOfThePayment -= gasleft();
        assertAtMost(gasOfThePayment, gasOfTheAnswer + 100_000);
    }

    function test_RevertGiven_TheNativeInventoryIsTooSmall() external {
        _expectPaymentFailed(INTENT, NATIVE, recipient, 1001 ether);
        _pay(INTENT, NATIVE, recipient, 1001 ether);
    }

    function test_GivenTheRecipientCallsBack() external {
        Reenterer reenterer = _reentererAsOperator();
        _pay(INTENT, NATIVE, address(reenterer), 1 ether);

        _assertRefused(reenterer);
        assertEq(address(reenterer).balance, 1 ether);
        assertEq(address(treasury).balance, 999 ether);
    }

    function testFuzz_GivenTheRecipientTakesTheValue(uint256 intentId, uint256 amount) external {
        amount = between(amount, 1, 1000 ether);
        assertTrue(!treasury.isPaid(intentId), "not paid yet");

        _expectPaid(intentId, NATIVE, recipient, amount);
        _pay(intentId, NATIVE, recipient, amount);

        assertEq(recipient.balance, amount);
        assertEq(address(treasury).balance, 1000 ether - amount);
        assertTrue(treasury.isPaid(intentId), "paid");
    }

    /* ERC-20 */

    function test_RevertGiven_TheTokenHasNoCode() external {
        _limit(outsider, NO_LIMIT, 0);
        _expectPaymentFailed(INTENT, outsider, recipient, 1);
        _pay(INTENT, outsider, recipient, 1);
    }

    function test_RevertGiven_TheTokenReverts() external {
        BlockToken blocker = new BlockToken();
        blocker.mint(address(treasury), 100);
        blocker.setBlocked(recipient, true);
        _limit(address(blocker), NO_LIMIT, 0);
        _expectPaymentFailed(INTENT, address(blocker), recipient, 100);
        _pay(INTENT, address(blocker), recipient, 100);
    }

    function test_RevertGiven_TheTokenReturnsFalse() external {
        FalseToken liar = new FalseToken();
        liar.mint(address(treasury), 100);
        _limit(address(liar), NO_LIMIT, 0);
        _expectPaymentFailed(INTENT, address(liar), recipient, 100);
        _pay(INTENT, address(liar), recipient, 100);
    }

    function test_RevertGiven_TheInventoryIsTooSmall() external {
        uint256 amount = token.balanceOf(address(treasury)) + 1;
        _expectPaymentFailed(INTENT, address(token), recipient, amount);
        _pay(INTENT, address(token), recipient, amount);
    }

    function test_GivenTheTokenCallsBack() external {
        HookToken hooked = new HookToken();
        hooked.mint(address(treasury), 100);
        _limit(address(hooked), NO_LIMIT, 0);
        Reenterer reenterer = _reentererAsOperator();
        hooked.setHook(recipient, reenterer);

        _pay(INTENT, address(hooked), recipient, 100);

        _assertRefused(reenterer);
        assertEq(hooked.balanceOf(recipient), 100);
        assertEq(address(treasury).balance, 1000 ether);
    }

    function test_GivenTheTokenReturnsNothing() external {
        NoReturnToken silent = new NoReturnToken();
        silent.mint(address(treasury), 100);
        _limit(address(silent), NO_LIMIT, 0);
        _pay(INTENT, address(silent), recipient, 100);
        assertEq(silent.balanceOf(recipient), 100);
    }

    function test_GivenTheTokenTakesAFee() external {
        FeeToken fee = new FeeToken(100);
        fee.mint(address(treasury), 100);
        _limit(address(fee), NO_LIMIT, 0);
        _expectPaid(INTENT, address(fee), recipient, 100);
        _pay(INTENT, address(fee), recipient, 100);
        assertEq(fee.balanceOf(recipient), 99);
    }

    function testFuzz_GivenTheTokenMovesTheAmount(uint256 intentId, uint256 amount) external {
        uint256 inventory = token.balanceOf(address(treasury));
        amount = between(amount, 1, inventory);

        _expectPaid(intentId, address(token), recipient, amount);
        _pay(intentId, address(token), recipient, amount);

        assertEq(token.balanceOf(recipient), amount);
        assertEq(token.balanceOf(address(treasury)), inventory - amount);
        assertTrue(treasury.isPaid(intentId), "paid");
    }

    /// @dev The worst case: the recipient is an operator.
    function _reentererAsOperator() private returns (Reenterer reenterer) {
        reenterer = new Reenterer();
        vm.prank(owner);
        treasury.addOperator(address(reenterer));
        reenterer.plan(
            address(treasury), abi.encodeCall(ITreasury.pay, (INTENT + 1, NATIVE, address(reenterer), 1 ether)), 0
        );
    }

    function _assertRefused(Reenterer reenterer) private view {
        assertTrue(reenterer.tried() && !reenterer.succeeded(), "the call back is refused");
        assertTrue(
            reenterer.errorSelector() == ReentrancyGuardTransient.ReentrancyGuardReentrantCall.selector, "for being one"
        );
        assertTrue(!treasury.isPaid(INTENT + 1), "the second intent is not paid");
    }

    function _callWithoutReading(address to) private returns (bool sent) {
        assembly {
            sent := call(gas(), to, 0, 0, 0, 0, 0)
        }
    }

    function _expectInvalid(address to, uint256 amount) private {
        vm.expectRevert(abi.encodeWithSelector(ITreasury.InvalidPayment.selector, INTENT, to, amount));
    }

    function _expectExceeded(address token_, uint256 amount, uint256 available) private {
        vm.expectRevert(abi.encodeWithSelector(ITreasury.OutflowLimitExceeded.selector, token_, amount, available));
    }
}
