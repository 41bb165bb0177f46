// SPDX-License-Identifier: MIT
pragma solidity 0.8.37;

import {IERC20Errors} from "@openzeppelin/contracts/interfaces/draft-IERC6093.sol";
import {SafeERC20} from "@openzeppelin/contracts/token/ERC20/utils/SafeERC20.sol";
import {Pausable} from "@openzeppelin/contracts/utils/Pausable.sol";
import {ReentrancyGuard} from "@openzeppelin/contracts/utils/ReentrancyGuard.sol";

import {Depository} from "../../../src/Depository.sol";
import {IDepository} from "../../../src/IDepository.sol";
import {ExtraSender} from "../../actors/ExtraSender.sol";
import {Loser} from "../../actors/Receivers.sol";
import {Reenterer} from "../../actors/Reenterer.sol";
import {BlockToken} from "../../tokens/BlockToken.sol";
import {FalseToken} from "../../tokens/FalseToken.sol";
import {FeeToken} from "../../tokens/FeeToken.sol";
import {HookToken} from "../../tokens/HookToken.sol";
import {NoReturnToken} from "../../tokens/NoReturnToken.sol";
import {DepositoryTest} from "../DepositoryTest.sol";

contract DepositERC20Test is DepositoryTest {
    function test_RevertWhen_Paused() external {
        _pause();
        vm.expectRevert(Pausable.EnforcedPause.selector);
        _deposit(address(token), receiver, 1);
    }

    function testFuzz_RevertWhen_TheReceiverIsNotWhitelisted(address other, uint256 amount) external {
        if (other == receiver) other = outsider;
        vm.expectRevert(Depository.NotWhitelisted.selector);
        _deposit(address(token), other, amount);
    }

    function test_RevertWhen_TheAmountIsZero() external {
        vm.expectRevert(Depository.ZeroAmount.selector);
        _deposit(address(token), receiver, 0);
    }

    function test_RevertWhen_TheTokenIsTheZeroAddress() external {
        vm.expectRevert(Depository.ZeroAddress.selector);
        _deposit(address(0), receiver, 1);
    }

    function test_RevertWhen_TheTokenHasNoCode() external {
        vm.expectRevert();
        _deposit(outsider, receiver, 1);
    }

    function test_RevertGiven_TheCallerHasNotApprovedEnough() external {
        vm.prank(user);
        token.approve(address(depository), 99);
        vm.expectRevert(
            abi.encodeWithSelector(IERC20Errors.ERC20InsufficientAllowance.selector, address(depository), 99, 100)
        );
        _deposit(address(token), receiver, 100);
    }

    function test_RevertGiven_TheTokenReturnsFalse() external {
        FalseToken liar = new FalseToken();
        liar.mint(user, 100);
        vm.expectRevert(abi.encodeWithSelector(SafeERC20.SafeERC20FailedOperation.selector, address(liar)));
        _deposit(address(liar), receiver, 100);
    }

    function test_RevertGiven_TheTokenBlocksTheCaller() external {
        BlockToken blocker = new BlockToken();
        blocker.mint(user, 100);
        blocker.setBlocked(user, true);
        vm.prank(user);
        blocker.approve(address(depository), 100);
        vm.expectRevert(abi.encodeWithSelector(BlockToken.Blocked.selector, user));
        _deposit(address(blocker), receiver, 100);
    }

    function test_RevertGiven_TheReceiverGainsNothing() external {
        FeeToken fee = _feeToken(10_000);
        vm.expectRevert(Depository.ZeroAmount.selector);
        _deposit(address(fee), receiver, 100);
    }

    function test_RevertGiven_TheReceiverLosesTokens() external {
        HookToken hooked = _hookToken(user);
        hooked.mint(receiver, 50);
        hooked.setHook(receiver, new Loser());
        vm.expectRevert(Depository.ZeroAmount.selector);
        _deposit(address(hooked), receiver, 100);
    }

    function test_RevertGiven_TheReceiverIsTheCaller() external {
        _approveReceiver(user);
        vm.expectRevert(Depository.ZeroAmount.selector);
        _deposit(address(token), user, 100);
    }

    function test_GivenTheTokenCallsBack() external {
        HookToken hooked = _hookToken(user);
        Reenterer reenterer = new Reenterer();
        hooked.mint(address(reenterer), 40);
        hooked.setHook(user, reenterer);
        reenterer.plan(
            address(depository), abi.encodeCall(IDepository.depositERC20, (ID, address(hooked), receiver, 40)), 0
        );

        _expectDeposited(address(hooked), receiver, 100);
        _deposit(address(hooked), receiver, 100);

        assertTrue(reenterer.tried() && !reenterer.succeeded(), "the call back is refused");
        assertTrue(reenterer.errorSelector() == ReentrancyGuard.ReentrancyGuardReentrantCall.selector, "for being one");
        assertEq(hooked.balanceOf(receiver), 100);
    }

    function testFuzz_GivenTheTokenTakesAFee(uint256 amount, uint256 feeBasisPoints) external {
        feeBasisPoints = between(feeBasisPoints, 0, 9999);
        amount = between(amount, 1, 1_000_000e18);
        FeeToken fee = _feeToken(feeBasisPoints);
        uint256 received = amount - amount * feeBasisPoints / 10_000;

        _expectDeposited(address(fee), receiver, received);
        _deposit(address(fee), receiver, amount);

        assertEq(fee.balanceOf(receiver), received);
        assertEq(fee.balanceOf(address(depository)), 0);
    }

    function test_GivenTheTokenReturnsNothing() external {
        NoReturnToken silent = new NoReturnToken();
        silent.mint(user, 100);
        vm.prank(user);
        silent.approve(address(depository), 100);

        _expectDeposited(address(silent), receiver, 100);
        _deposit(address(silent), receiver, 100);

        assertEq(silent.balanceOf(receiver), 100);
    }

    function testFuzz_GivenTheSenderGivesMoreFromAHook(uint256 amount, uint256 extra) external {
        amount = between(amount, 1, type(uint128).max);
        extra = between(extra, 1, type(uint128).max);
        HookToken hooked = new HookToken();
        ExtraSender sender = new ExtraSender(hooked);
        hooked.mint(address(sender), amount + extra);

        _expectDeposited(address(hooked), receiver, amount + extra);
        sender.deposit(depository, ID, receiver, amount, extra);

        assertEq(hooked.balanceOf(receiver), amount + extra);
    }

    function testFuzz_GivenTheReceiverGainsTheAmount(bytes32 id, uint256 amount, uint256 inventory) external {
        amount = between(amount, 1, token.balanceOf(user));
        inventory = between(inventory, 0, type(uint128).max);
        token.mint(receiver, inventory);

        vm.expectEmit(address(depository));
        emit Depository.Deposited(id, address(token), receiver, amount);
        vm.prank(user);
        depository.depositERC20(id, address(token), receiver, amount);

        assertEq(token.balanceOf(receiver), inventory + amount);
        assertEq(token.balanceOf(address(depository)), 0);
    }

    function _deposit(address token_, address to, uint256 amount) private {
        vm.prank(user);
        depository.depositERC20(ID, token_, to, amount);
    }

    function _feeToken(uint256 feeBasisPoints) private returns (FeeToken fee) {
        fee = new FeeToken(feeBasisPoints);
        fee.mint(user, 1_000_000e18);
        vm.prank(user);
        fee.approve(address(depository), type(uint256).max);
    }

    function _hookToken(address holder) private returns (HookToken hooked) {
        hooked = new HookToken();
        hooked.mint(holder, 100);
        vm.prank(holder);
        hooked.approve(address(depository), 100);
    }
}
