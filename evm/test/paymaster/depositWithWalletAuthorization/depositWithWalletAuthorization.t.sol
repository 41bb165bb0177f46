// SPDX-License-Identifier: MIT
pragma solidity 0.8.37;

import {Pausable} from "@openzeppelin/contracts/utils/Pausable.sol";
import {ReentrancyGuardTransient} from "@openzeppelin/contracts/utils/ReentrancyGuardTransient.sol";

import {Depository} from "../../../src/Depository.sol";
import {IPaymaster} from "../../../src/IPaymaster.sol";
import {Reenterer} from "../../actors/Reenterer.sol";
import {Wallet} from "../../actors/Wallet.sol";
import {LooseToken} from "../../tokens/LooseToken.sol";
import {WrapToken} from "../../tokens/WrapToken.sol";
import {PaymasterTest} from "../PaymasterTest.sol";

contract DepositWithWalletAuthorizationTest is PaymasterTest {
    string private constant _INVALID = "FiatTokenV2: invalid signature";

    function testFuzz_RevertWhen_TheCallerIsNotAnOperator(address caller) external {
        if (caller == operator) caller = outsider;
        IPaymaster.Deposit memory deposit = _walletDeposit(100);
        bytes memory signature = _pack(_authorize(deposit));
        _expectNotOperator(caller);
        vm.prank(caller);
        paymaster.depositWithWalletAuthorization(deposit, 0, FOR_EVER, signature);
    }

    function test_RevertWhen_Paused() external {
        _pause();
        vm.expectRevert(Pausable.EnforcedPause.selector);
        _depositWithWalletAuthorization(_deposit(address(usdc), 100), "");
    }

    function test_RevertWhen_TheReceiverIsNotWhitelisted() external {
        IPaymaster.Deposit memory deposit = _walletDeposit(100);
        deposit.receiver = outsider;
        bytes memory signature = _pack(_authorize(deposit));
        vm.expectRevert(Depository.NotWhitelisted.selector);
        _depositWithWalletAuthorization(deposit, signature);
    }

    function testFuzz_RevertWhen_TheSignatureWasLiftedForAnotherSwap(bytes32 id) external {
        IPaymaster.Deposit memory deposit = _walletDeposit(100);
        bytes memory signature = _pack(_authorize(deposit));
        deposit.id = id == ID ? OTHER_ID : id;
        _expectReason(_INVALID);
        _depositWithWalletAuthorization(deposit, signature);
    }

    function test_RevertWhen_TheWalletDoesNotKnowTheSignature() external {
        IPaymaster.Deposit memory deposit = _walletDeposit(100);
        bytes memory signature = _pack(_signAuthorization(OTHER_KEY, address(paymaster), deposit, _nonce(deposit)));
        _expectReason(_INVALID);
        _depositWithWalletAuthorization(deposit, signature);
    }

    function test_RevertGiven_TheTokenKnowsOnlyKeys() external {
        vm.expectRevert();
        _depositWithWalletAuthorization(_deposit(address(dai), 100), "");
    }

    function test_RevertGiven_TheTokenTakesEveryCallAndDoesNothing() external {
        WrapToken wrap = new WrapToken();
        wrap.mint(user, 100);
        IPaymaster.Deposit memory deposit = _deposit(address(wrap), 100);
        _expectWrongAmount(deposit);
        _depositWithWalletAuthorization(deposit, "");
    }

    function test_GivenTheTokenCallsBack() external {
        LooseToken loose = new LooseToken();
        loose.mint(user, 140);
        Reenterer reenterer = new Reenterer();
        loose.setHook(receiver, reenterer);
        vm.prank(owner);
        paymaster.addOperator(address(reenterer));
        IPaymaster.Deposit memory second = _deposit(address(loose), 40);
        reenterer.plan(
            address(paymaster), abi.encodeCall(IPaymaster.depositWithWalletAuthorization, (second, 0, 0, "")), 0
        );

        IPaymaster.Deposit memory deposit = _deposit(address(loose), 100);
        _expectDeposited(deposit);
        _depositWithWalletAuthorization(deposit, "");

        assertTrue(reenterer.tried() && !reenterer.succeeded(), "the call back is refused");
        assertTrue(
            reenterer.errorSelector() == ReentrancyGuardTransient.ReentrancyGuardReentrantCall.selector, "for being one"
        );
        _assertHandedOn(deposit, 140);
    }

    function testFuzz_GivenAKeySigned(bytes32 id, uint256 amount) external {
        uint256 balance = usdc.balanceOf(user);
        IPaymaster.Deposit memory deposit = _deposit(address(usdc), between(amount, 1, balance));
        deposit.id = id;
        _deposits(deposit, balance);
    }

    function testFuzz_GivenAWalletWithCodeSigned(bytes32 id, uint256 amount) external {
        amount = between(amount, 1, 1e15);
        IPaymaster.Deposit memory deposit = _walletDeposit(amount);
        deposit.id = id;
        _deposits(deposit, amount);
    }

    function _deposits(IPaymaster.Deposit memory deposit, uint256 balance) private {
        bytes memory signature = _pack(_authorize(deposit));
        _expectDeposited(deposit);
        _depositWithWalletAuthorization(deposit, signature);
        _assertHandedOn(deposit, balance);
    }

    function _walletDeposit(uint256 amount) private returns (IPaymaster.Deposit memory deposit) {
        Wallet wallet = new Wallet(user);
        usdc.mint(address(wallet), amount);
        deposit = _deposit(address(usdc), amount);
        deposit.from = address(wallet);
    }
}
