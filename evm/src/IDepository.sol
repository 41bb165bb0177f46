// SPDX-License-Identifier: MIT
pragma solidity ^0.8.24;

/// @title IDepository
/// @notice Takes a user's deposit for one swap and hands it straight to an approved receiver.
/// @dev Holds no funds between transactions. Value forced into it (a token sent to its address, native value from a
/// destroyed contract) belongs to nobody and cannot be taken out.
interface IDepository {
    /// @notice Emitted once per deposit.
    /// @param id The swap the deposit pays for, assigned off-chain and never interpreted here.
    /// @param token The token deposited, or the zero address for the native token.
    /// @param receiver The receiver that was paid.
    /// @param amount What `receiver` gained, in base units: less than was sent if the token takes a fee, more if the
    /// token or a hook of it gave the receiver something on top during the deposit.
    event Deposited(bytes32 indexed id, address indexed token, address indexed receiver, uint256 amount);

    /// @notice Emitted when a receiver becomes approved.
    event AddedToWhitelist(address indexed receiver);

    /// @notice Emitted when a receiver stops being approved.
    event RemovedFromWhitelist(address indexed receiver);

    /// @notice The receiver is not approved.
    error NotWhitelisted();

    /// @notice An address that must be set is zero.
    error ZeroAddress();

    /// @notice Nothing was deposited, or the receiver gained nothing.
    error ZeroAmount();

    /// @notice The receiver is approved already.
    error AlreadyWhitelisted();

    /// @notice The address can never be a receiver: it is this contract.
    error InvalidReceiver();

    /// @notice The old and the new receiver are the same.
    error SameAddress();

    /// @notice The receiver refused the native value.
    error TransferFailed();

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
