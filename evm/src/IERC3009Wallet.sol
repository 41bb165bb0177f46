// SPDX-License-Identifier: MIT
pragma solidity ^0.8.24;

/// @title IERC3009Wallet
/// @notice An addition to EIP-3009 for wallets with code: a signature of any length, which the token checks by
/// EIP-1271.
interface IERC3009Wallet {
    /// @notice Moves `value` from `from` to `to`. The caller must be `to`.
    function receiveWithAuthorization(
        address from,
        address to,
        uint256 value,
        uint256 validAfter,
        uint256 validBefore,
        bytes32 nonce,
        bytes calldata signature
    ) external;
}
