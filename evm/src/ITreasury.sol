// SPDX-License-Identifier: MIT
pragma solidity ^0.8.24;

import {IOperators} from "./IOperators.sol";

/// @title ITreasury
/// @notice Holds the inventory of one network, receives deposits and makes payments.
/// @dev Three roles. The owner sets every rule and may withdraw; operators pay; the guardian can only pause.
///
/// A stolen operator key can pay each intent once and, per token, no more than the outflow limit allows:
/// for a token with limit L and window W, the payments of any span of t seconds add up to at most
/// L + floor(L * t / W), so never more than 2 * L in a span of W seconds. The allowance starts at L, falls with each
/// payment and refills at L / W per second, rounded down, up to L. A token without a limit cannot be paid at all.
///
/// Native value that arrives without a call (a block reward, a destroyed contract) emits no event.
interface ITreasury is IOperators {
    /// @notice One payment of a batch.
    /// @param intentId Why it is paid, assigned off-chain; used once, for ever.
    /// @param token The token paid, or the zero address for the native token.
    /// @param to The recipient.
    /// @param amount What is sent, in base units.
    struct Payment {
        uint256 intentId;
        address token;
        address to;
        uint256 amount;
    }

    /// @notice Emitted once per payment.
    /// @param amount What was sent: the recipient gains less if the token takes a fee.
    event Paid(uint256 indexed intentId, address indexed token, address indexed to, uint256 amount);

    /// @notice Emitted for every native value that arrives by a call.
    /// @param memo The call data of the transfer, empty for a plain one.
    event NativeReceived(address indexed from, uint256 amount, bytes memo);

    /// @notice Emitted when the owner takes inventory out.
    event Withdrawn(address indexed token, address indexed to, uint256 amount);

    /// @notice Emitted when the owner sets how much of a token may flow out.
    /// @param limit The most that can be paid at once, in base units.
    /// @param window Seconds in which a used up allowance refills.
    event OutflowLimitSet(address indexed token, uint256 limit, uint64 window);

    /// @notice Emitted when the guardian changes; zero means that there is none.
    event GuardianSet(address indexed guardian);

    /// @notice The caller is neither the owner nor the guardian.
    error NotGuardian(address caller);

    /// @notice The intent was paid before, or appears twice in a batch.
    error AlreadyPaid(uint256 intentId);

    /// @notice The payment goes nowhere (to the zero address or to this contract) or is of nothing.
    error InvalidPayment(uint256 intentId, address to, uint256 amount);

    /// @notice The payments of one call ask for more of a token than may flow out now.
    /// @param amount What was asked for, with everything of that token next to it in the batch.
    /// @param available What would have been allowed.
    error OutflowLimitExceeded(address token, uint256 amount, uint256 available);

    /// @notice The token or the recipient refused the payment, or the inventory is too small.
    /// @dev The token's own reason is had by calling its `transfer` in a simulation from this contract's address.
    error PaymentFailed(uint256 intentId, address token, address to, uint256 amount);

    /// @notice The withdrawal goes nowhere or is of nothing.
    error InvalidWithdrawal(address token, address to, uint256 amount);

    /// @notice The token or the recipient refused the withdrawal, or the inventory is too small.
    error WithdrawalFailed(address token, address to, uint256 amount);

    /// @notice A limit above zero needs a window.
    error ZeroWindow(address token);

    /// @notice An unknown function was called without value.
    error UnknownCall(bytes4 selector);

    /// @notice The contract must have an owner.
    error OwnerRequired();

    /// @notice Pays one intent. Operators only, not while paused.
    function pay(uint256 intentId, address token, address to, uint256 amount) external;

    /// @notice Pays every intent of the batch or none. Operators only, not while paused.
    /// @dev The outflow limit is charged once for neighbours of the same token: sort by token.
    /// Warning: a native recipient with code can use up the gas of the whole batch; pay it alone.
    function payBatch(Payment[] calldata payments) external;

    /// @notice Takes inventory out, without limit and also while paused. Owner only.
    function withdraw(address token, address to, uint256 amount) external;

    /// @notice Sets how much of `token` may flow out. Owner only.
    /// @dev What of the allowance is used stays used; the new rate counts from now. Payments made without a limit
    /// are not counted afterwards.
    /// @param token The token, or the zero address for the native token.
    /// @param limit The most that can be paid at once; zero for nothing, the largest uint256 for no limit,
    /// below 2^208 - 1 otherwise.
    /// @param window Seconds in which a used up allowance refills; above zero unless there is no limit or nothing to
    /// limit; below 2^48.
    function setOutflowLimit(address token, uint256 limit, uint64 window) external;

    /// @notice Names who may pause besides the owner; zero for nobody. Owner only.
    function setGuardian(address newGuardian) external;

    /// @notice Stops payments. Owner or guardian.
    /// @dev Receiving and withdrawing go on.
    function pause() external;

    /// @notice Allows payments again. Owner only.
    function unpause() external;

    /// @notice Whether the intent was paid.
    function isPaid(uint256 intentId) external view returns (bool);

    /// @notice Who may pause besides the owner.
    function guardian() external view returns (address);

    /// @notice What the owner set for `token`; a limit of the largest uint256 is no limit.
    function outflowLimit(address token) external view returns (uint256 limit, uint64 window);

    /// @notice How much of `token` may be paid now, whatever the inventory is.
    function outflowAvailable(address token) external view returns (uint256);
}
