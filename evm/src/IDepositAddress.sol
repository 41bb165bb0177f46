// SPDX-License-Identifier: MIT
pragma solidity ^0.8.24;

/// @title IDepositAddress
/// @notice The code behind every deposit address: what is there can go to the Treasury and nowhere else.
interface IDepositAddress {
    /// @notice The caller is not the factory.
    error NotFactory(address caller);

    /// @notice The Treasury refused the native value.
    error TransferFailed();

    /// @notice Sends `amount` of `token` from here to the Treasury. Factory only.
    /// @dev Only the factory, so that it tells of everything that leaves; anyone may tell it to.
    /// The token's own reason is passed on when its transfer fails.
    /// @param token The token, or the zero address for the native one.
    function forward(address token, uint256 amount) external;

    /// @notice The one destination.
    function treasury() external view returns (address);

    /// @notice Who may tell a deposit address to forward.
    function factory() external view returns (address);
}
