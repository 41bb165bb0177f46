// SPDX-License-Identifier: MIT
pragma solidity ^0.8.24;

/// @title IDepository
/// @notice Transfers a user's deposit for one swap to an approved receiver in the same call.
/// @dev Declares functions only. Solidity resolves an event or an error through the contract that declares it, so
/// Depository declares those: `Depository.Deposited`, `Depository.NotWhitelisted`.
/// The contract holds no funds between transactions. Value forced into it (a token sent to its address, native value
/// from a destroyed contract) cannot be withdrawn.
interface IDepository {
    /// @notice Deposits the attached native value.
    /// @dev Does not reject a repeated `id`: the service matches deposits to swaps.
    function depositNative(bytes32 id, address receiver) external payable;

    /// @notice Deposits `amount` of `token`, which the caller must have approved for this contract.
    /// @dev Does not reject a repeated `id`. When the token's transfer fails, its revert data is passed on.
    /// Warning: any address may be given as `token`; a reader of the event must know the token.
    function depositERC20(bytes32 id, address token, address receiver, uint256 amount) external;

    /// @notice Approves `receiver`. Owner only.
    function addToWhitelist(address receiver) external;

    /// @notice Removes the approval of `receiver`. Owner only.
    function removeFromWhitelist(address receiver) external;

    /// @notice Replaces an approved receiver with another in one step. Owner only.
    function updateWhitelistedAddress(address oldReceiver, address newReceiver) external;

    /// @notice Pauses deposits. Owner only.
    function pause() external;

    /// @notice Resumes deposits. Owner only.
    function unpause() external;

    /// @notice Whether `receiver` is approved.
    function isWhitelisted(address receiver) external view returns (bool);

    /// @notice Every approved receiver, in no particular order.
    function getWhitelistedAddresses() external view returns (address[] memory);
}
