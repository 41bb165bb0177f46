// SPDX-License-Identifier: MIT
pragma solidity ^0.8.24;

/// @title IDepository
/// @notice Takes a user's deposit for one swap and hands it straight to an approved receiver.
/// @dev Declares functions only. Solidity finds an event or an error through the contract that declares it, so those are
/// Depository's: `Depository.Deposited`, `Depository.NotWhitelisted`.
/// Holds no funds between transactions. Value forced into it (a token sent to its address, native value from a
/// destroyed contract) belongs to nobody and cannot be taken out.
interface IDepository {
    /// @notice Deposits the attached native value.
    /// @dev Does not reject a repeated `id`: matching deposits to swaps is the service's job.
    function depositNative(bytes32 id, address receiver) external payable;

    /// @notice Deposits `amount` of `token`, which the caller must have approved to this contract beforehand.
    /// @dev Does not reject a repeated `id`. The token's own reason is passed on when its transfer fails.
    /// Warning: any address may be given as `token`; a reader of the event must know the token.
    function depositERC20(bytes32 id, address token, address receiver, uint256 amount) external;

    /// @notice Approves `receiver`. Owner only.
    function addToWhitelist(address receiver) external;

    /// @notice Withdraws the approval of `receiver`. Owner only.
    function removeFromWhitelist(address receiver) external;

    /// @notice Replaces one approved receiver by another in one step. Owner only.
    function updateWhitelistedAddress(address oldReceiver, address newReceiver) external;

    /// @notice Stops deposits. Owner only.
    function pause() external;

    /// @notice Allows deposits again. Owner only.
    function unpause() external;

    /// @notice Whether `receiver` is approved.
    function isWhitelisted(address receiver) external view returns (bool);

    /// @notice Every approved receiver, in no particular order.
    function getWhitelistedAddresses() external view returns (address[] memory);
}
