// SPDX-License-Identifier: MIT
pragma solidity ^0.8.24;

/// @title IDepositAddressFactory
/// @notice Deposit addresses of one Treasury: known before they are deployed, and swept to it by anyone.
/// @dev A deposit address takes any token and native value, before and after it is deployed, in any way a network
/// knows; a plain native transfer needs no more than the 2300 gas of old wallets. Holds no funds between transactions.
///
/// The address of a salt is the last 20 bytes of keccak256(0xff ++ factory ++ salt ++ initCodeHash), where
/// initCodeHash is the hash of the init code, the same for every salt: 61 bytes around the address of the
/// implementation, whose code names the Treasury. So an address is bound to its factory, its Treasury and its salt.
interface IDepositAddressFactory {
    /// @notice One token at one deposit address.
    /// @param salt The sequence number of the swap that the address is for.
    /// @param token The token, or the zero address for the native one.
    struct Sweep {
        bytes32 salt;
        address token;
    }

    /// @notice Emitted for every token that is swept from a deposit address.
    /// @param amount What the Treasury gained, in base units: less than was there if the token takes a fee.
    event Swept(bytes32 indexed salt, address indexed token, address indexed depositAddress, uint256 amount);

    /// @notice The address can never be the Treasury: there is no code.
    error InvalidTreasury(address treasury);

    /// @notice The token or the Treasury refused the transfer, or the Treasury gained nothing.
    /// @dev The token's own reason is had by simulating its `transfer` from the deposit address.
    error SweepFailed(bytes32 salt, address token, uint256 amount);

    /// @notice Sends all there is of each token at its deposit address to the Treasury, or nothing of any.
    /// @dev Deploys an address the first time something is there. What was swept before is passed over, so a call
    /// can be repeated, and whoever is first takes nothing from whoever comes later.
    /// Warning: any address may be given as `token`; a reader of the event must know the token.
    function sweep(Sweep[] calldata sweeps) external;

    /// @notice The deposit address of `salt`, deployed or not.
    function addressOf(bytes32 salt) external view returns (address);

    /// @notice Where everything goes.
    function treasury() external view returns (address);

    /// @notice The code that every deposit address runs.
    function implementation() external view returns (address);

    /// @notice The hash that the deposit addresses are computed with.
    function initCodeHash() external view returns (bytes32);
}
