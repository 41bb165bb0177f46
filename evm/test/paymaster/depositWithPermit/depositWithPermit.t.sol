// SPDX-License-Identifier: MIT
pragma solidity 0.8.37;

import {IERC20Errors} from "@openzeppelin/contracts/interfaces/draft-IERC6093.sol";
import {Pausable} from "@openzeppelin/contracts/utils/Pausable.sol";

import {Depository} from "../../../src/Depository.sol";
import {IPaymaster} from "../../../src/IPaymaster.sol";
import {PlainWallet} from "../../actors/Wallet.sol";
import {EmptyPermitToken, MisnamedToken, PermitFeeToken, StickyToken} from "../../tokens/PermitTokens.sol";
import {WrapToken} from "../../tokens/WrapToken.sol";
import {PaymasterTest} from "../PaymasterTest.sol";

contract DepositWithPermitTest is PaymasterTest {
    function testFuzz_RevertWhen_TheCallerIsNotAnOperator(address caller) external {
        if (caller == operator) caller = outsider;
        IPaymaster.Deposit memory deposit = _deposit(address(dai), 100);
        Signature memory signed = _permit(deposit, 0);
        _expectNotOperator(caller);
        vm.prank(caller);
        paymaster.depositWithPermit(deposit, 0, FOR_EVER, signed.v, signed.r, signed.s);
    }

    function test_RevertWhen_Paused() external {
        _pause();
        _refuses(_deposit(address(dai), 100), Pausable.EnforcedPause.selector);
    }

    function testFuzz_RevertWhen_TheReceiverIsNotWhitelisted(address other) external {
        IPaymaster.Deposit memory deposit = _deposit(address(dai), 100);
        deposit.receiver = other == receiver ? outsider : other;
        _refuses(deposit, Depository.NotWhitelisted.selector);
    }

    function test_RevertWhen_TheAmountIsZero() external {
        _refuses(_deposit(address(dai), 0), Depository.ZeroAmount.selector);
    }

    function test_RevertWhen_TheTokenHasNoCode() external {
        vm.expectRevert();
        _depositWithPermit(_deposit(outsider, 100), 0, Signature(27, 0, 0));
    }

    function test_RevertWhen_AnotherKeySigned() external {
        IPaymaster.Deposit memory deposit = _deposit(address(dai), 100);
        Signature memory signed = _signPermit(OTHER_KEY, address(paymaster), deposit, 0);
        _expectPermitNotUsed(deposit, 0);
        _depositWithPermit(deposit, 0, signed);
    }

    function testFuzz_RevertWhen_AnotherAmountWasSigned(uint256 amount) external {
        IPaymaster.Deposit memory deposit = _deposit(address(dai), 100);
        Signature memory signed = _permit(deposit, 0);
        deposit.amount = amount == 100 ? 101 : amount;
        _expectPermitNotUsed(deposit, 0);
        _depositWithPermit(deposit, 0, signed);
    }

    function test_RevertWhen_TheDeadlineHasPassed() external {
        IPaymaster.Deposit memory deposit = _deposit(address(dai), 100);
        Signature memory signed = _permit(deposit, 0);
        _expectPermitNotUsed(deposit, 0);
        vm.prank(operator);
        paymaster.depositWithPermit(deposit, 0, block.timestamp - 1, signed.v, signed.r, signed.s);
    }

    function testFuzz_RevertWhen_TheNonceWasNotTheOneSigned(uint64 nonce) external {
        IPaymaster.Deposit memory deposit = _deposit(address(dai), 100);
        Signature memory signed = _permit(deposit, 0);
        if (nonce == 0) nonce = 1;
        _expectPermitNotUsed(deposit, nonce);
        _depositWithPermit(deposit, nonce, signed);
    }

    function test_RevertGiven_ThePermitWasDepositedBefore() external {
        IPaymaster.Deposit memory deposit = _deposit(address(dai), 100);
        Signature memory signed = _permit(deposit, 0);
        _depositWithPermit(deposit, 0, signed);
        deposit.id = OTHER_ID;
        _expectWrongAllowance(deposit, 0);
        _depositWithPermit(deposit, 0, signed);
    }

    function testFuzz_RevertGiven_AnAllowanceStandsButThePermitIsNotGood(uint256 allowance) external {
        _allow(allowance);
        IPaymaster.Deposit memory deposit = _deposit(address(dai), 100);
        _expectPermitNotUsed(deposit, 0);
        _depositWithPermit(deposit, 0, Signature(27, 0, 0));
    }

    /// @dev The permit was used for one swap and not deposited: it pays for no other swap.
    function test_RevertGiven_TheAllowanceOfAnEarlierPermitStands() external {
        IPaymaster.Deposit memory deposit = _deposit(address(dai), 100);
        _useBefore(deposit);

        deposit.id = OTHER_ID;
        _expectPermitNotUsed(deposit, 1);
        _depositWithPermit(deposit, 1, Signature(27, 0, 0));
    }

    function testFuzz_RevertGiven_TheUserChangedTheAllowanceAfterThePermitWasUsed(uint256 allowance) external {
        IPaymaster.Deposit memory deposit = _deposit(address(dai), 100);
        Signature memory signed = _useBefore(deposit);
        if (allowance == 100) allowance = FOR_EVER;
        _allow(allowance);
        _expectWrongAllowance(deposit, allowance);
        _depositWithPermit(deposit, 0, signed);
    }

    function test_RevertGiven_TheTokenTakesEveryCallAndDoesNothing() external {
        WrapToken wrap = new WrapToken();
        wrap.mint(user, 100);
        vm.prank(user);
        wrap.approve(address(paymaster), 100);
        IPaymaster.Deposit memory deposit = _deposit(address(wrap), 100);
        _expectPermitNotUsed(deposit, 0);
        _depositWithPermit(deposit, 0, Signature(27, 0, 0));
    }

    function test_RevertGiven_TheTokenCountsPermitsAndAllowsNothing() external {
        IPaymaster.Deposit memory deposit = _deposit(address(new EmptyPermitToken()), 100);
        _expectWrongAllowance(deposit, 0);
        _depositWithPermit(deposit, 0, Signature(27, 0, 0));
    }

    /// @dev The user's wallet signs for a domain with the token's `name`.
    function test_RevertGiven_TheTokenIsCalledOtherwiseThanItsDomain() external {
        MisnamedToken misnamed = new MisnamedToken();
        misnamed.mint(user, 100);
        IPaymaster.Deposit memory deposit = _deposit(address(misnamed), 100);
        bytes32 domain = keccak256(
            abi.encode(
                keccak256("EIP712Domain(string name,string version,uint256 chainId,address verifyingContract)"),
                keccak256(bytes(misnamed.name())),
                keccak256("1"),
                block.chainid,
                misnamed
            )
        );
        Signature memory signed = _signPermit(KEY, domain, address(paymaster), deposit, 0);
        _expectPermitNotUsed(deposit, 0);
        _depositWithPermit(deposit, 0, signed);
    }

    function test_RevertGiven_TheTokenTakesAFee() external {
        PermitFeeToken fee = new PermitFeeToken();
        fee.mint(user, 200);
        IPaymaster.Deposit memory deposit = _deposit(address(fee), 100);
        Signature memory signed = _permit(deposit, 0);
        _expectWrongAmount(deposit);
        _depositWithPermit(deposit, 0, signed);
    }

    function test_RevertGiven_TheUserHasTooLittle() external {
        uint256 balance = dai.balanceOf(user);
        IPaymaster.Deposit memory deposit = _deposit(address(dai), balance + 1);
        Signature memory signed = _permit(deposit, 0);
        vm.expectRevert(
            abi.encodeWithSelector(IERC20Errors.ERC20InsufficientBalance.selector, user, balance, balance + 1)
        );
        _depositWithPermit(deposit, 0, signed);
    }

    /// @dev The real USDC calls the code; the OpenZeppelin token checks the key only.
    /// forge-config: default.evm_version = "prague"
    function test_RevertGiven_TheSignerDelegatesToCodeThatChecksNoSignatures() external {
        _delegate(address(new PlainWallet()));
        IPaymaster.Deposit memory deposit = _deposit(address(usdc), 100);
        Signature memory signed = _permit(deposit, 0);
        _expectPermitNotUsed(deposit, 0);
        _depositWithPermit(deposit, 0, signed);
    }

    function test_GivenThePermitWasUsedBefore() external {
        IPaymaster.Deposit memory deposit = _deposit(address(dai), 100);
        uint256 balance = dai.balanceOf(user);
        Signature memory signed = _useBefore(deposit);
        _expectDeposited(deposit);
        _depositWithPermit(deposit, 0, signed);
        _assertHandedOn(deposit, balance);
    }

    function test_GivenTheTokenNeverLowersAnAllowance() external {
        StickyToken sticky = new StickyToken();
        sticky.mint(user, 100);
        IPaymaster.Deposit memory deposit = _deposit(address(sticky), 100);
        _depositWithPermit(deposit, 0, _permit(deposit, 0));
        assertEq(sticky.allowance(address(paymaster), address(depository)), 0);
        assertEq(sticky.balanceOf(receiver), 100);
    }

    /// @dev A permit replaces an earlier allowance.
    function testFuzz_GivenTheUserAllowedMoreBefore(uint256 allowance) external {
        _allow(between(allowance, 101, FOR_EVER));
        _deposits(_deposit(address(dai), 100));
    }

    function testFuzz_GivenTheRealUSDC(uint256 amount) external {
        _deposits(_deposit(address(usdc), between(amount, 1, usdc.balanceOf(user))));
    }

    function testFuzz_GivenTheUserSignedForTheAmount(bytes32 id, uint256 amount) external {
        IPaymaster.Deposit memory deposit = _deposit(address(dai), between(amount, 1, dai.balanceOf(user)));
        deposit.id = id;
        _deposits(deposit);
    }

    function _deposits(IPaymaster.Deposit memory deposit) private {
        uint256 balance = usdc.balanceOf(user);
        if (deposit.token == address(dai)) balance = dai.balanceOf(user);
        Signature memory signed = _permit(deposit, 0);
        _expectDeposited(deposit);
        _depositWithPermit(deposit, 0, signed);
        _assertHandedOn(deposit, balance);
    }

    function _refuses(IPaymaster.Deposit memory deposit, bytes4 reason) private {
        Signature memory signed = _permit(deposit, 0);
        vm.expectRevert(reason);
        _depositWithPermit(deposit, 0, signed);
    }

    function _useBefore(IPaymaster.Deposit memory deposit) private returns (Signature memory signed) {
        signed = _permit(deposit, 0);
        vm.prank(outsider);
        dai.permit(user, address(paymaster), deposit.amount, FOR_EVER, signed.v, signed.r, signed.s);
    }

    function _allow(uint256 allowance) private {
        vm.prank(user);
        dai.approve(address(paymaster), allowance);
    }
}
