// SPDX-License-Identifier: MIT
pragma solidity 0.8.37;

import {IERC3009} from "@openzeppelin/contracts/interfaces/draft-IERC3009.sol";
import {IERC20} from "@openzeppelin/contracts/token/ERC20/IERC20.sol";
import {IERC20Permit} from "@openzeppelin/contracts/token/ERC20/extensions/IERC20Permit.sol";
import {SafeERC20} from "@openzeppelin/contracts/token/ERC20/utils/SafeERC20.sol";
import {LowLevelCall} from "@openzeppelin/contracts/utils/LowLevelCall.sol";
import {Pausable} from "@openzeppelin/contracts/utils/Pausable.sol";
import {ReentrancyGuardTransient} from "@openzeppelin/contracts/utils/ReentrancyGuardTransient.sol";

import {IDepository} from "./IDepository.sol";
import {IERC3009Wallet} from "./IERC3009Wallet.sol";
import {IPaymaster} from "./IPaymaster.sol";
import {Operators} from "./Operators.sol";

/// @title Paymaster
/// @notice Deposits for users by their signatures; see IPaymaster.
contract Paymaster is IPaymaster, Operators, Pausable, ReentrancyGuardTransient {
    using SafeERC20 for IERC20;

    /// @inheritdoc IPaymaster
    address public immutable depository;

    /// @param owner_ The account that manages the operators and may pause.
    /// @param depository_ The Depository that every deposit passes through.
    /// @param operators The operators at deployment; may be empty.
    constructor(address owner_, address depository_, address[] memory operators) Operators(owner_, operators) {
        if (depository_.code.length == 0) revert InvalidDepository(depository_);
        depository = depository_;
    }

    /* DEPOSITS */

    /// @inheritdoc IPaymaster
    function depositWithAuthorization(
        Deposit calldata deposit,
        uint256 validAfter,
        uint256 validBefore,
        uint8 v,
        bytes32 r,
        bytes32 s
    ) external onlyOperator whenNotPaused nonReentrant {
        uint256 balanceBefore = _balance(deposit.token);
        IERC3009(deposit.token)
            .receiveWithAuthorization(
                deposit.from, address(this), deposit.amount, validAfter, validBefore, _nonceOf(deposit), v, r, s
            );
        _handOn(deposit, balanceBefore);
    }

    /// @inheritdoc IPaymaster
    function depositWithWalletAuthorization(
        Deposit calldata deposit,
        uint256 validAfter,
        uint256 validBefore,
        bytes calldata signature
    ) external onlyOperator whenNotPaused nonReentrant {
        uint256 balanceBefore = _balance(deposit.token);
        IERC3009Wallet(deposit.token)
            .receiveWithAuthorization(
                deposit.from, address(this), deposit.amount, validAfter, validBefore, _nonceOf(deposit), signature
            );
        _handOn(deposit, balanceBefore);
    }

    /// @inheritdoc IPaymaster
    function depositWithPermit(Deposit calldata deposit, uint256 nonce, uint256 deadline, uint8 v, bytes32 r, bytes32 s)
        external
        onlyOperator
        whenNotPaused
        nonReentrant
    {
        uint256 balanceBefore = _balance(deposit.token);
        try IERC20Permit(deposit.token).permit(deposit.from, address(this), deposit.amount, deadline, v, r, s) {}
            catch {} // It fails if the permit was used before; the state is checked next.
        _checkPermit(deposit, nonce);
        IERC20(deposit.token).safeTransferFrom(deposit.from, address(this), deposit.amount);
        _handOn(deposit, balanceBefore);
    }

    /* OWNER */

    /// @inheritdoc IPaymaster
    function pause() external onlyOwner {
        _pause();
    }

    /// @inheritdoc IPaymaster
    function unpause() external onlyOwner {
        _unpause();
    }

    /* VIEWS */

    /// @inheritdoc IPaymaster
    function authorizationNonce(bytes32 id, address receiver, address token) public view returns (bytes32) {
        return keccak256(abi.encode(block.chainid, address(this), id, receiver, token));
    }

    /* INTERNAL */

    function _nonceOf(Deposit calldata deposit) private view returns (bytes32) {
        return authorizationNonce(deposit.id, deposit.receiver, deposit.token);
    }

    /// @dev A token without permits may accept a call of `permit` without effect, and an earlier allowance may exist.
    /// Only a permit uses a nonce, and it sets the allowance to exactly the amount.
    function _checkPermit(Deposit calldata deposit, uint256 nonce) private view {
        (bool known, bytes32 next,) =
            LowLevelCall.staticcallReturn64Bytes(deposit.token, abi.encodeCall(IERC20Permit.nonces, (deposit.from)));
        if (!known || LowLevelCall.returnDataSize() < 32 || uint256(next) != nonce + 1) {
            revert PermitNotUsed(deposit.token, deposit.from, nonce);
        }
        uint256 allowance = IERC20(deposit.token).allowance(deposit.from, address(this));
        if (allowance != deposit.amount) {
            revert WrongAllowance(deposit.token, deposit.from, deposit.amount, allowance);
        }
    }

    function _handOn(Deposit calldata deposit, uint256 balanceBefore) private {
        IERC20 token = IERC20(deposit.token);
        if (_balance(deposit.token) != balanceBefore + deposit.amount) {
            revert WrongAmount(deposit.token, deposit.from, deposit.amount);
        }

        token.forceApprove(depository, deposit.amount);
        IDepository(depository).depositERC20(deposit.id, deposit.token, deposit.receiver, deposit.amount);

        if (_balance(deposit.token) != balanceBefore) revert NotHandedOn(deposit.token, deposit.amount);
        if (token.allowance(address(this), depository) != 0) token.forceApprove(depository, 0);
    }

    function _balance(address token) private view returns (uint256) {
        return IERC20(token).balanceOf(address(this));
    }
}
