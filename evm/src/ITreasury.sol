// SPDX-License-Identifier: MIT
pragma solidity ^0.8.24;

import {IOperators} from "./IOperators.sol";

/// @title ITreasury
/// @notice Holds the inventory of one network, receives deposits and makes payments.
/// @dev There are three roles. The owner configures the contract and may withdraw; operators pay; the guardian can only
/// pause.
///
/// A stolen operator key can pay each intent once and, per token, no more than the outflow limit allows. For a token
/// with limit L and window W, the payments of any span of t seconds add up to at most L + floor(L * t / W). So they are
/// never more than 2 * L in a span of W seconds. The allowance starts at L, falls with each payment and refills at
/// L / W per second, rounded down, up to L. A token without a limit cannot be paid.
///
/// Native value that arrives without a call (a block reward, a destroyed contract) emits no event.
interface ITreasury is IOperators {
    /// @notice One payment of a batch.
    /// @param intentId The id of the payment, assigned off-chain; it can be used only once.
    /// @param token The token, or the zero address for the native token.
    /// @param to The recipient.
    /// @param amount The amount sent, in base units.
    struct Payment {
        uint256 intentId;
        address token;
        address to;
        uint256 amount;
    }

    /// @notice Emitted once per payment.
    /// @param amount The amount sent: the recipient receives less if the token takes a fee.
    event Paid(uint256 indexed intentId, address indexed token, address indexed to, uint256 amount);

    /// @notice Emitted for every receipt of native value by a call.
    /// @param memo The call data of the transfer, empty for a plain one.
    event NativeReceived(address indexed from, uint256 amount, bytes memo);

    /// @notice Emitted when the owner withdraws inventory.
    event Withdrawn(address indexed token, address indexed to, uint256 amount);

    /// @notice Emitted when the owner sets the outflow limit of a token.
    /// @param limit The maximum that can be paid at once, in base units.
    /// @param window The seconds in which a fully used allowance refills.
    event OutflowLimitSet(address indexed token, uint256 limit, uint64 window);

    /// @notice Emitted when the guardian changes; zero means that there is none.
    event GuardianSet(address indexed guardian);

    /// @notice The caller is neither the owner nor the guardian.
    error NotGuardian(address caller);

    /// @notice The intent was paid before, or appears twice in a batch.
    error AlreadyPaid(uint256 intentId);

    /// @notice The recipient is the zero address or this contract, or the amount is zero.
    error InvalidPayment(uint256 intentId, address to, uint256 amount);

    /// @notice The payments of one call exceed the current allowance of a token.
    /// @param amount The requested amount, including adjacent payments of that token in the batch.
    /// @param available The current allowance.
    error OutflowLimitExceeded(address token, uint256 amount, uint256 available);

    /// @notice The token or the recipient refused the payment, or the inventory is too small.
    /// @dev To read the token's revert reason, simulate its `transfer` from this contract's address.
    error PaymentFailed(uint256 intentId, address token, address to, uint256 amount);

    /// @notice The recipient of the withdrawal is the zero address or this contract, or the amount is zero.
    error InvalidWithdrawal(address token, address to, uint256 amount);

    /// @notice The token or the recipient refused the withdrawal, or the inventory is too small.
    error WithdrawalFailed(address token, address to, uint256 amount);

    /// @notice A limit above zero requires a window.
    error ZeroWindow(address token);

    /// @notice An unknown function was called without value.
    error UnknownCall(bytes4 selector);

    /// @notice The contract must have an owner.
    error OwnerRequired();

    /// @notice Pays one intent. Operators only, not while paused.
    function pay(uint256 intentId, address token, address to, uint256 amount) external;

    /// @notice Pays every intent of the batch or none. Operators only, not while paused.
    /// @dev The outflow limit is charged once for adjacent payments of the same token: sort by token.
    /// Warning: a native recipient with code can consume the gas of the whole batch; pay it alone.
    function payBatch(Payment[] calldata payments) external;

    /// @notice Withdraws inventory, without limit and also while paused. Owner only.
    function withdraw(address token, address to, uint256 amount) external;

    /// @notice Sets the outflow limit of `token`. Owner only.
    /// @dev The used part of the allowance stays used; the new rate applies from now on. Payments made without a limit
    /// are not counted afterwards.
    /// @param token The token, or the zero address for the native token.
    /// @param limit The maximum that can be paid at once. Zero allows no payment, the largest uint256 removes the
    /// limit; otherwise it is below 2^208 - 1.
    /// @param window The seconds in which a fully used allowance refills, below 2^48. It is above zero, unless the
    /// limit is zero or removed.
    function setOutflowLimit(address token, uint256 limit, uint64 window) external;

    /// @notice Sets the guardian, which may pause as the owner may; zero for none. Owner only.
    function setGuardian(address newGuardian) external;

    /// @notice Pauses payments. Owner or guardian.
    /// @dev Receipts and withdrawals stay possible.
    function pause() external;

    /// @notice Resumes payments. Owner only.
    function unpause() external;

    /// @notice Whether the intent was paid.
    function isPaid(uint256 intentId) external view returns (bool);

    /// @notice The account that may pause besides the owner.
    function guardian() external view returns (address);

    /// @notice The outflow limit of `token`; the largest uint256 means that there is no limit.
    function outflowLimit(address token) external view returns (uint256 limit, uint64 window);

    /// @notice The current allowance of `token`, regardless of the inventory.
    function outflowAvailable(address token) external view returns (uint256);
}
