// SPDX-License-Identifier: MIT
pragma solidity 0.8.37;

import {Depository} from "../../src/Depository.sol";
import {IOperators} from "../../src/IOperators.sol";
import {IPaymaster} from "../../src/IPaymaster.sol";
import {Paymaster} from "../../src/Paymaster.sol";
import {DevToken} from "../../src/dev/DevToken.sol";
import {Signer} from "../Signer.sol";
import {IFiatToken, WithFiatToken} from "../tokens/FiatToken.sol";

/// @notice A Paymaster with one operator, a Depository with one approved receiver, and a user with a key. The user has
/// the real USDC and an OpenZeppelin token with permits.
abstract contract PaymasterTest is Signer, WithFiatToken {
    bytes32 internal constant ID = bytes32(uint256(7));
    bytes32 internal constant OTHER_ID = bytes32(uint256(8));
    uint256 internal constant KEY = 0xA11CE;
    uint256 internal constant OTHER_KEY = 0xB0B;
    uint256 internal constant FOR_EVER = type(uint256).max;

    address internal immutable owner = named("owner");
    address internal immutable operator = named("operator");
    address internal immutable receiver = named("receiver");
    address internal immutable outsider = named("outsider");
    address internal immutable user = vm.addr(KEY);

    Depository internal depository;
    Paymaster internal paymaster;
    IFiatToken internal usdc;
    DevToken internal dai;

    function setUp() public virtual {
        depository = new Depository(owner, _one(receiver));
        paymaster = new Paymaster(owner, address(depository), _one(operator));
        usdc = _newFiatToken();
        usdc.mint(user, 1_000_000e6);
        dai = new DevToken("Dai", "DAI", 18, user, 1_000_000e18);
        vm.warp(1_800_000_000);
    }

    function _deposit(address token, uint256 amount) internal view returns (IPaymaster.Deposit memory) {
        return IPaymaster.Deposit({id: ID, token: token, receiver: receiver, from: user, amount: amount});
    }

    function _nonce(IPaymaster.Deposit memory deposit) internal view returns (bytes32) {
        return paymaster.authorizationNonce(deposit.id, deposit.receiver, deposit.token);
    }

    function _authorize(IPaymaster.Deposit memory deposit) internal view returns (Signature memory) {
        return _signAuthorization(KEY, address(paymaster), deposit, _nonce(deposit));
    }

    function _permit(IPaymaster.Deposit memory deposit, uint256 nonce) internal view returns (Signature memory) {
        return _signPermit(KEY, address(paymaster), deposit, nonce);
    }

    function _depositWithAuthorization(IPaymaster.Deposit memory deposit, Signature memory signed) internal {
        vm.prank(operator);
        paymaster.depositWithAuthorization(deposit, 0, FOR_EVER, signed.v, signed.r, signed.s);
    }

    function _depositWithWalletAuthorization(IPaymaster.Deposit memory deposit, bytes memory signature) internal {
        vm.prank(operator);
        paymaster.depositWithWalletAuthorization(deposit, 0, FOR_EVER, signature);
    }

    function _depositWithPermit(IPaymaster.Deposit memory deposit, uint256 nonce, Signature memory signed) internal {
        vm.prank(operator);
        paymaster.depositWithPermit(deposit, nonce, FOR_EVER, signed.v, signed.r, signed.s);
    }

    /// @dev The code of an account that signed a delegation (EIP-7702).
    function _delegate(address to) internal {
        vm.etch(user, abi.encodePacked(hex"ef0100", to));
    }

    function _pause() internal {
        vm.prank(owner);
        paymaster.pause();
    }

    function _approveReceiver(address account) internal {
        vm.prank(owner);
        depository.addToWhitelist(account);
    }

    function _one(address account) internal pure returns (address[] memory list) {
        list = new address[](1);
        list[0] = account;
    }

    function _expectDeposited(IPaymaster.Deposit memory deposit) internal {
        vm.expectEmit(address(depository));
        emit Depository.Deposited(deposit.id, deposit.token, deposit.receiver, deposit.amount);
    }

    function _expectNotOperator(address caller) internal {
        vm.expectRevert(abi.encodeWithSelector(IOperators.NotOperator.selector, caller));
    }

    function _expectReason(string memory reason) internal {
        vm.expectRevert(abi.encodeWithSignature("Error(string)", reason));
    }

    function _expectWrongAmount(IPaymaster.Deposit memory deposit) internal {
        vm.expectRevert(
            abi.encodeWithSelector(IPaymaster.WrongAmount.selector, deposit.token, deposit.from, deposit.amount)
        );
    }

    function _expectPermitNotUsed(IPaymaster.Deposit memory deposit, uint256 nonce) internal {
        vm.expectRevert(abi.encodeWithSelector(IPaymaster.PermitNotUsed.selector, deposit.token, deposit.from, nonce));
    }

    function _expectWrongAllowance(IPaymaster.Deposit memory deposit, uint256 allowance) internal {
        vm.expectRevert(
            abi.encodeWithSelector(
                IPaymaster.WrongAllowance.selector, deposit.token, deposit.from, deposit.amount, allowance
            )
        );
    }

    /// @dev The whole amount went from the user to the receiver; the contracts keep no balance and no allowance.
    function _assertHandedOn(IPaymaster.Deposit memory deposit, uint256 balanceBefore) internal view {
        DevToken token = DevToken(deposit.token);
        assertEq(token.balanceOf(deposit.from), balanceBefore - deposit.amount);
        assertEq(token.balanceOf(deposit.receiver), deposit.amount);
        assertEq(token.balanceOf(address(paymaster)), 0);
        assertEq(token.balanceOf(address(depository)), 0);
        assertEq(token.allowance(address(paymaster), address(depository)), 0);
        assertEq(token.allowance(deposit.from, address(paymaster)), 0);
    }
}
