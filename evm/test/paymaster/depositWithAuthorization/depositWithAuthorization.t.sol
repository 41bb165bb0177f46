// SPDX-License-Identifier: MIT
pragma solidity 0.8.37;

import {Pausable} from "@openzeppelin/contracts/utils/Pausable.sol";
import {ReentrancyGuardTransient} from "@openzeppelin/contracts/utils/ReentrancyGuardTransient.sol";

import {Depository} from "../../../src/Depository.sol";
import {IPaymaster} from "../../../src/IPaymaster.sol";
import {GiverBack} from "../../actors/GiverBack.sol";
import {Reenterer} from "../../actors/Reenterer.sol";
import {PlainWallet, Wallet} from "../../actors/Wallet.sol";
import {LooseToken} from "../../tokens/LooseToken.sol";
import {WrapToken} from "../../tokens/WrapToken.sol";
import {PaymasterTest} from "../PaymasterTest.sol";

contract DepositWithAuthorizationTest is PaymasterTest {
    string private constant _INVALID = "FiatTokenV2: invalid signature";

    function testFuzz_RevertWhen_TheCallerIsNotAnOperator(address caller) external {
        if (caller == operator) caller = outsider;
        IPaymaster.Deposit memory deposit = _deposit(address(usdc), 100);
        Signature memory signed = _authorize(deposit);
        _expectNotOperator(caller);
        vm.prank(caller);
        paymaster.depositWithAuthorization(deposit, 0, FOR_EVER, signed.v, signed.r, signed.s);
    }

    function test_RevertWhen_Paused() external {
        _pause();
        _refuses(_deposit(address(usdc), 100), Pausable.EnforcedPause.selector);
    }

    function testFuzz_RevertWhen_TheReceiverIsNotWhitelisted(address other) external {
        IPaymaster.Deposit memory deposit = _deposit(address(usdc), 100);
        deposit.receiver = other == receiver ? outsider : other;
        _refuses(deposit, Depository.NotWhitelisted.selector);
    }

    function test_RevertWhen_TheAmountIsZero() external {
        _refuses(_deposit(address(usdc), 0), Depository.ZeroAmount.selector);
    }

    function test_RevertWhen_TheTokenHasNoCode() external {
        vm.expectRevert();
        _depositWithAuthorization(_deposit(outsider, 100), Signature(27, 0, 0));
    }

    function test_RevertGiven_TheDepositoryIsPaused() external {
        vm.prank(owner);
        depository.pause();
        _refuses(_deposit(address(usdc), 100), Pausable.EnforcedPause.selector);
    }

    function testFuzz_RevertWhen_TheSignatureWasLiftedForAnotherSwap(bytes32 id) external {
        IPaymaster.Deposit memory deposit = _deposit(address(usdc), 100);
        Signature memory signed = _authorize(deposit);
        deposit.id = id == ID ? OTHER_ID : id;
        _expectReason(_INVALID);
        _depositWithAuthorization(deposit, signed);
    }

    function test_RevertWhen_TheSignatureWasLiftedForAnotherReceiver() external {
        _approveReceiver(outsider);
        IPaymaster.Deposit memory deposit = _deposit(address(usdc), 100);
        Signature memory signed = _authorize(deposit);
        deposit.receiver = outsider;
        _expectReason(_INVALID);
        _depositWithAuthorization(deposit, signed);
    }

    function testFuzz_RevertWhen_TheSignatureWasLiftedForAnotherAmount(uint256 amount) external {
        IPaymaster.Deposit memory deposit = _deposit(address(usdc), 100);
        Signature memory signed = _authorize(deposit);
        deposit.amount = amount == 100 ? 101 : amount;
        _expectReason(_INVALID);
        _depositWithAuthorization(deposit, signed);
    }

    function test_RevertWhen_AnotherKeySigned() external {
        IPaymaster.Deposit memory deposit = _deposit(address(usdc), 100);
        Signature memory signed = _signAuthorization(OTHER_KEY, address(paymaster), deposit, _nonce(deposit));
        _expectReason(_INVALID);
        _depositWithAuthorization(deposit, signed);
    }

    function test_RevertWhen_TheSignatureIsSentToTheToken() external {
        IPaymaster.Deposit memory deposit = _deposit(address(usdc), 100);
        Signature memory signed = _authorize(deposit);
        bytes32 nonce = _nonce(deposit);
        _expectReason("FiatTokenV2: caller must be the payee");
        vm.prank(outsider);
        usdc.receiveWithAuthorization(user, address(paymaster), 100, 0, FOR_EVER, nonce, signed.v, signed.r, signed.s);
    }

    /// @dev EIP-3009 has two messages. Any account may use the other one.
    function test_RevertWhen_TheSignatureIsUsedForAPlainTransfer() external {
        IPaymaster.Deposit memory deposit = _deposit(address(usdc), 100);
        Signature memory signed = _authorize(deposit);
        bytes32 nonce = _nonce(deposit);
        _expectReason(_INVALID);
        vm.prank(outsider);
        usdc.transferWithAuthorization(user, address(paymaster), 100, 0, FOR_EVER, nonce, signed.v, signed.r, signed.s);
    }

    function test_RevertWhen_TheAuthorizationIsNotValidYetOrAnyMore() external {
        IPaymaster.Deposit memory deposit = _deposit(address(usdc), 100);
        _expectReason("FiatTokenV2: authorization is not yet valid");
        vm.prank(operator);
        paymaster.depositWithAuthorization(deposit, block.timestamp, FOR_EVER, 27, 0, 0);
        _expectReason("FiatTokenV2: authorization is expired");
        vm.prank(operator);
        paymaster.depositWithAuthorization(deposit, 0, block.timestamp, 27, 0, 0);
    }

    function test_RevertGiven_TheAuthorizationWasUsed() external {
        IPaymaster.Deposit memory deposit = _deposit(address(usdc), 100);
        Signature memory signed = _authorize(deposit);
        _depositWithAuthorization(deposit, signed);
        _expectReason("FiatTokenV2: authorization is used or canceled");
        _depositWithAuthorization(deposit, signed);
    }

    function test_RevertGiven_TheAuthorizationWasCancelled() external {
        IPaymaster.Deposit memory deposit = _deposit(address(usdc), 100);
        Signature memory signed = _signCancellation(KEY, deposit, _nonce(deposit));
        usdc.cancelAuthorization(user, _nonce(deposit), signed.v, signed.r, signed.s);
        signed = _authorize(deposit);
        _expectReason("FiatTokenV2: authorization is used or canceled");
        _depositWithAuthorization(deposit, signed);
    }

    function test_RevertGiven_TheUserHasTooLittle() external {
        IPaymaster.Deposit memory deposit = _deposit(address(usdc), usdc.balanceOf(user) + 1);
        Signature memory signed = _authorize(deposit);
        _expectReason("ERC20: transfer amount exceeds balance");
        _depositWithAuthorization(deposit, signed);
    }

    function test_RevertGiven_TheTokenBlocksTheUser() external {
        usdc.blacklist(user);
        IPaymaster.Deposit memory deposit = _deposit(address(usdc), 100);
        Signature memory signed = _authorize(deposit);
        _expectReason("Blacklistable: account is blacklisted");
        _depositWithAuthorization(deposit, signed);
    }

    /// forge-config: default.evm_version = "prague"
    function test_RevertGiven_TheSignerDelegatesToCodeThatChecksNoSignatures() external {
        _delegate(address(new PlainWallet()));
        IPaymaster.Deposit memory deposit = _deposit(address(usdc), 100);
        Signature memory signed = _authorize(deposit);
        _expectReason(_INVALID);
        _depositWithAuthorization(deposit, signed);
    }

    /// forge-config: default.evm_version = "prague"
    function test_GivenTheSignerDelegatesToAWallet() external {
        _delegate(address(new Wallet(user)));
        IPaymaster.Deposit memory deposit = _deposit(address(usdc), 100);
        uint256 balance = usdc.balanceOf(user);
        _signedDeposit(deposit);
        _assertHandedOn(deposit, balance);
    }

    function test_RevertGiven_TheTokenTakesEveryCallAndDoesNothing() external {
        WrapToken wrap = new WrapToken();
        wrap.mint(user, 100);
        wrap.mint(address(paymaster), 100);
        IPaymaster.Deposit memory deposit = _deposit(address(wrap), 100);
        _expectWrongAmount(deposit);
        _depositWithAuthorization(deposit, Signature(27, 0, 0));
    }

    function test_RevertGiven_TheTokenKeepsAShare() external {
        LooseToken loose = _looseToken();
        loose.setKept(1);
        IPaymaster.Deposit memory deposit = _deposit(address(loose), 100);
        _expectWrongAmount(deposit);
        _depositWithAuthorization(deposit, Signature(27, 0, 0));
    }

    function test_RevertGiven_TheReceiverGivesSomethingBack() external {
        LooseToken loose = _looseToken();
        GiverBack giver = new GiverBack(address(paymaster));
        loose.setHook(address(giver), giver);
        _approveReceiver(address(giver));
        IPaymaster.Deposit memory deposit = _deposit(address(loose), 100);
        deposit.receiver = address(giver);
        vm.expectRevert(abi.encodeWithSelector(IPaymaster.NotHandedOn.selector, address(loose), 100));
        _depositWithAuthorization(deposit, Signature(27, 0, 0));
    }

    function test_GivenTheTokenCallsBack() external {
        LooseToken loose = _looseToken();
        Reenterer reenterer = new Reenterer();
        loose.mint(user, 40);
        loose.setHook(receiver, reenterer);
        vm.prank(owner);
        paymaster.addOperator(address(reenterer));
        IPaymaster.Deposit memory second = _deposit(address(loose), 40);
        reenterer.plan(
            address(paymaster), abi.encodeCall(IPaymaster.depositWithAuthorization, (second, 0, 0, 27, 0, 0)), 0
        );

        IPaymaster.Deposit memory deposit = _deposit(address(loose), 100);
        _expectDeposited(deposit);
        _depositWithAuthorization(deposit, Signature(27, 0, 0));

        assertTrue(reenterer.tried() && !reenterer.succeeded(), "the call back is refused");
        assertTrue(
            reenterer.errorSelector() == ReentrancyGuardTransient.ReentrancyGuardReentrantCall.selector, "for being one"
        );
        _assertHandedOn(deposit, 140);
    }

    function test_GivenThePaymasterWasSentTokensBefore() external {
        usdc.mint(address(paymaster), 55);
        _signedDeposit(_deposit(address(usdc), 100));
        assertEq(usdc.balanceOf(receiver), 100);
        assertEq(usdc.balanceOf(address(paymaster)), 55);
    }

    function testFuzz_GivenTheUserSignedForThisSwap(bytes32 id, uint256 amount) external {
        uint256 balance = usdc.balanceOf(user);
        IPaymaster.Deposit memory deposit = _deposit(address(usdc), between(amount, 1, balance));
        deposit.id = id;
        Signature memory signed = _authorize(deposit);
        _expectDeposited(deposit);
        _depositWithAuthorization(deposit, signed);
        _assertHandedOn(deposit, balance);
    }

    function _signedDeposit(IPaymaster.Deposit memory deposit) private {
        _depositWithAuthorization(deposit, _authorize(deposit));
    }

    function _refuses(IPaymaster.Deposit memory deposit, bytes4 reason) private {
        Signature memory signed = _authorize(deposit);
        vm.expectRevert(reason);
        _depositWithAuthorization(deposit, signed);
    }

    function _looseToken() private returns (LooseToken loose) {
        loose = new LooseToken();
        loose.mint(user, 100);
    }
}
