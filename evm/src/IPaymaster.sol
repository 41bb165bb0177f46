// SPDX-License-Identifier: MIT
pragma solidity ^0.8.24;

import {IOperators} from "./IOperators.sol";

/// @title IPaymaster
/// @notice Deposits for users who signed instead of sending a transaction: pulls what they authorized and hands it to
/// the Depository in the same call.
/// @dev Operators only: a permit does not say which swap it pays for, so whoever may use it decides that. An
/// authorization does: its nonce is the hash of the swap, the receiver and this contract.
/// Holds no funds and leaves no allowance. Tokens sent here by mistake belong to nobody and cannot be taken out.
interface IPaymaster is IOperators {
    /// @notice What is deposited, for which swap and for whom.
    /// @param id The swap, as the Depository is told it.
    /// @param token The token deposited.
    /// @param receiver The Depository's receiver.
    /// @param from The user who signed and pays.
    /// @param amount What is pulled and deposited, in base units: exactly what was signed.
    struct Deposit {
        bytes32 id;
        address token;
        address receiver;
        address from;
        uint256 amount;
    }

    /// @notice The address can never be the Depository: there is no code.
    error InvalidDepository(address depository);

    /// @notice The token does not count the permit as used, and as its owner's last one.
    error PermitNotUsed(address token, address from, uint256 nonce);

    /// @notice The user's allowance is not exactly the amount: what may be pulled was not allowed by this permit.
    error WrongAllowance(address token, address from, uint256 amount, uint256 allowance);

    /// @notice What arrived is not exactly the amount: the token takes a fee or does not do what it was told.
    error WrongAmount(address token, address from, uint256 amount);

    /// @notice The Depository did not take everything that arrived.
    error NotHandedOn(address token, uint256 amount);

    /// @notice Deposits by an EIP-3009 authorization to receive. Operators only, not while paused.
    /// @dev The token's own reason is passed on when it refuses the authorization.
    function depositWithAuthorization(
        Deposit calldata deposit,
        uint256 validAfter,
        uint256 validBefore,
        uint8 v,
        bytes32 r,
        bytes32 s
    ) external;

    /// @notice The same for a signature of any length, as a wallet with code makes it (EIP-1271). Operators only, not
    /// while paused.
    /// @dev For tokens that have `receiveWithAuthorization` with `bytes signature`. The token's own reason is passed on.
    function depositWithWalletAuthorization(
        Deposit calldata deposit,
        uint256 validAfter,
        uint256 validBefore,
        bytes calldata signature
    ) external;

    /// @notice Deposits by an ERC-2612 permit of exactly the amount. Operators only, not while paused.
    /// @dev Somebody else may have used the permit before: what counts is that it was used and what it allows.
    /// @param nonce The nonce that was signed.
    function depositWithPermit(Deposit calldata deposit, uint256 nonce, uint256 deadline, uint8 v, bytes32 r, bytes32 s)
        external;

    /// @notice Stops deposits. Owner only.
    function pause() external;

    /// @notice Allows deposits again. Owner only.
    function unpause() external;

    /// @notice The nonce an EIP-3009 authorization must have to pay for the swap:
    /// keccak256(abi.encode(chain id, this contract, id, receiver, token)).
    /// @dev A signer can therefore pay for a swap in this way once.
    function authorizationNonce(bytes32 id, address receiver, address token) external view returns (bytes32);

    /// @notice Where the deposits go through.
    function depository() external view returns (address);
}
