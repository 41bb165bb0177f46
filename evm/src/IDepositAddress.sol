// SPDX-License-Identifier: MIT
pragma solidity ^0.8.24;

/// @title IDepositAddress
/// @notice The code of every deposit address. Its only destination is the Treasury.
interface IDepositAddress {
    /// @notice The caller is not the factory.
    error NotFactory(address caller);

    /// @notice The Treasury refused the native value.
    error TransferFailed();

    /// @notice Sends `amount` of `token` from this address to the Treasury. Factory only.
    /// @dev Only the factory may call it, so that the factory emits an event for every outgoing transfer. Anyone may
    /// call the factory. When the token's transfer fails, its revert data is passed on.
    /// @param token The token, or the zero address for the native one.
    function forward(address token, uint256 amount) external;

    /// @notice The only destination.
    function treasury() external view returns (address);

    /// @notice The only contract that may call `forward`.
    function factory() external view returns (address);
}
