// SPDX-License-Identifier: MIT
pragma solidity ^0.8.24;

/// @title IDepositAddressFactory
/// @notice Deposit addresses of one Treasury. They are known before they are deployed, and anyone can sweep them.
/// @dev A deposit address accepts any token and native value, before and after it is deployed, by any kind of transfer.
/// A plain native transfer needs no more than the 2300 gas of old wallets. The factory holds no funds between
/// transactions.
///
/// The address of a salt is the last 20 bytes of keccak256(0xff ++ factory ++ salt ++ initCodeHash). initCodeHash is
/// the hash of the init code, which is the same for every salt. The init code is 61 bytes that contain the address of
/// the implementation, and the code of the implementation contains the Treasury. So an address is bound to its factory,
/// its Treasury and its salt.
interface IDepositAddressFactory {
    /// @notice One token at one deposit address.
    /// @param salt The sequence number of the address's swap.
    /// @param token The token, or the zero address for the native one.
    struct Sweep {
        bytes32 salt;
        address token;
    }

    /// @notice Emitted for every token that is swept from a deposit address.
    /// @param amount The increase of the Treasury's balance, in base units: less than the swept balance if the token
    /// takes a fee.
    event Swept(bytes32 indexed salt, address indexed token, address indexed depositAddress, uint256 amount);

    /// @notice The address cannot be the Treasury, because it has no code.
    error InvalidTreasury(address treasury);

    /// @notice The token or the Treasury refused the transfer, or the Treasury's balance did not increase.
    /// @dev To read the token's revert reason, simulate its `transfer` from the deposit address.
    error SweepFailed(bytes32 salt, address token, uint256 amount);

    /// @notice Sends the whole balance of each token at its deposit address to the Treasury, or reverts entirely.
    /// @dev Deploys an address at its first sweep with a balance. Empty balances are skipped, so a call can be
    /// repeated, and an earlier sweep by another account does not make a later one fail.
    /// Warning: any address may be given as `token`; a reader of the event must know the token.
    function sweep(Sweep[] calldata sweeps) external;

    /// @notice The deposit address of `salt`, deployed or not.
    function addressOf(bytes32 salt) external view returns (address);

    /// @notice The Treasury that receives every sweep.
    function treasury() external view returns (address);

    /// @notice The contract that every deposit address delegates to.
    function implementation() external view returns (address);

    /// @notice The hash of the init code, from which the deposit addresses are computed.
    function initCodeHash() external view returns (bytes32);
}
