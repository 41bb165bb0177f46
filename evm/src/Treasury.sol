// SPDX-License-Identifier: MIT
pragma solidity 0.8.37;

import {IERC20} from "@openzeppelin/contracts/token/ERC20/IERC20.sol";
import {SafeERC20} from "@openzeppelin/contracts/token/ERC20/utils/SafeERC20.sol";
import {LowLevelCall} from "@openzeppelin/contracts/utils/LowLevelCall.sol";
import {Pausable} from "@openzeppelin/contracts/utils/Pausable.sol";
import {RateLimiter} from "@openzeppelin/contracts/utils/RateLimiter.sol";
import {ReentrancyGuardTransient} from "@openzeppelin/contracts/utils/ReentrancyGuardTransient.sol";
import {SafeCast} from "@openzeppelin/contracts/utils/math/SafeCast.sol";

import {ITreasury} from "./ITreasury.sol";
import {Operators} from "./Operators.sol";

/// @title Treasury
/// @notice The inventory of one network; see ITreasury.
contract Treasury is ITreasury, Operators, Pausable, ReentrancyGuardTransient {
    using RateLimiter for RateLimiter.RefillingBucket;
    using SafeERC20 for IERC20;

    /// @dev The stored value for no limit; no token has that supply.
    uint208 private constant _UNLIMITED = type(uint208).max;

    /// @dev Each token has a separate limiter, and each limiter has this one entry.
    bytes32 private constant _ENTRY = bytes32(0);

    /* STORAGE */

    mapping(uint256 intentId => bool paid) private _paid;

    mapping(address token => RateLimiter.RefillingBucket outflow) private _outflows;

    /// @inheritdoc ITreasury
    address public guardian;

    /* CONSTRUCTOR */

    /// @param owner_ The account that configures the contract and may withdraw.
    /// @param operators The operators at deployment; may be empty.
    constructor(address owner_, address[] memory operators) Operators(owner_, operators) {}

    /* RECEIVING */

    /// @dev Costs less than the 2300 gas that old wallets send; a test checks it.
    receive() external payable {
        emit NativeReceived(msg.sender, msg.value, "");
    }

    /// @dev A call without value reverts: if it succeeded, a call of a misspelt function would look like a payment.
    fallback() external payable {
        if (msg.value == 0) revert UnknownCall(msg.sig);
        emit NativeReceived(msg.sender, msg.value, msg.data);
    }

    /* PAYMENTS */

    /// @inheritdoc ITreasury
    function pay(uint256 intentId, address token, address to, uint256 amount)
        external
        onlyOperator
        whenNotPaused
        nonReentrant
    {
        _claim(intentId, to, amount);
        _charge(token, amount);
        _send(intentId, token, to, amount);
    }

    /// @inheritdoc ITreasury
    function payBatch(Payment[] calldata payments) external onlyOperator whenNotPaused nonReentrant {
        address token;
        uint256 outflow;
        for (uint256 i; i < payments.length; ++i) {
            Payment calldata payment = payments[i];
            if (payment.token != token) {
                _charge(token, outflow);
                token = payment.token;
                outflow = 0;
            }
            _claim(payment.intentId, payment.to, payment.amount);
            outflow += payment.amount;
        }
        _charge(token, outflow);

        for (uint256 i; i < payments.length; ++i) {
            Payment calldata payment = payments[i];
            _send(payment.intentId, payment.token, payment.to, payment.amount);
        }
    }

    /* OWNER */

    /// @inheritdoc ITreasury
    function withdraw(address token, address to, uint256 amount) external onlyOwner nonReentrant {
        if (_goesNowhere(to, amount)) revert InvalidWithdrawal(token, to, amount);
        emit Withdrawn(token, to, amount);
        if (!_transfer(token, to, amount)) revert WithdrawalFailed(token, to, amount);
    }

    /// @inheritdoc ITreasury
    function setOutflowLimit(address token, uint256 limit, uint64 window) external onlyOwner {
        bool unlimited = limit == type(uint256).max;
        if (window == 0 && limit != 0 && !unlimited) revert ZeroWindow(token);

        RateLimiter.RefillingBucket storage outflow = _outflows[token];
        outflow.sync(_ENTRY);
        outflow.updateSettings(SafeCast.toUint48(window), unlimited ? _UNLIMITED : SafeCast.toUint208(limit));
        emit OutflowLimitSet(token, limit, window);
    }

    /// @inheritdoc ITreasury
    function setGuardian(address newGuardian) external onlyOwner {
        guardian = newGuardian;
        emit GuardianSet(newGuardian);
    }

    /// @inheritdoc ITreasury
    function pause() external {
        if (msg.sender != owner() && msg.sender != guardian) revert NotGuardian(msg.sender);
        _pause();
    }

    /// @inheritdoc ITreasury
    function unpause() external onlyOwner {
        _unpause();
    }

    /// @notice Always reverts: without an owner, inventory could not be withdrawn and a pause could not end.
    function renounceOwnership() public view override onlyOwner {
        revert OwnerRequired();
    }

    /* VIEWS */

    /// @inheritdoc ITreasury
    function isPaid(uint256 intentId) external view returns (bool) {
        return _paid[intentId];
    }

    /// @inheritdoc ITreasury
    function outflowLimit(address token) external view returns (uint256 limit, uint64 window) {
        RateLimiter.RefillingBucket storage outflow = _outflows[token];
        limit = outflow._capacity == _UNLIMITED ? type(uint256).max : outflow._capacity;
        window = outflow._window;
    }

    /// @inheritdoc ITreasury
    function outflowAvailable(address token) external view returns (uint256) {
        RateLimiter.RefillingBucket storage outflow = _outflows[token];
        return outflow._capacity == _UNLIMITED ? type(uint256).max : outflow.available(_ENTRY);
    }

    /* INTERNAL */

    function _claim(uint256 intentId, address to, uint256 amount) private {
        if (_goesNowhere(to, amount)) revert InvalidPayment(intentId, to, amount);
        if (_paid[intentId]) revert AlreadyPaid(intentId);
        _paid[intentId] = true;
    }

    function _charge(address token, uint256 amount) private {
        if (amount == 0) return; // Only before the first payment of a batch: amounts are above zero.
        RateLimiter.RefillingBucket storage outflow = _outflows[token];
        if (outflow._capacity == _UNLIMITED) return;
        if (!outflow.tryConsume(_ENTRY, amount)) {
            revert OutflowLimitExceeded(token, amount, outflow.available(_ENTRY));
        }
    }

    function _send(uint256 intentId, address token, address to, uint256 amount) private {
        emit Paid(intentId, token, to, amount);
        if (!_transfer(token, to, amount)) revert PaymentFailed(intentId, token, to, amount);
    }

    /// @dev Does not copy the recipient's return data, because long data would cost gas.
    function _transfer(address token, address to, uint256 amount) private returns (bool) {
        return
            token == address(0) ? LowLevelCall.callNoReturn(to, amount, "") : IERC20(token).trySafeTransfer(to, amount);
    }

    function _goesNowhere(address to, uint256 amount) private view returns (bool) {
        return to == address(0) || to == address(this) || amount == 0;
    }
}
