// SPDX-License-Identifier: MIT
pragma solidity ^0.8.24;

import {IOperators} from "./IOperators.sol";

/// @title IPaymaster
/// @notice Deposits for users who sign instead of sending a transaction. Pulls the amount they authorized and deposits
/// it through the Depository in the same call.
/// @dev Operators only: a permit does not name a swap, so its user decides which swap it pays for. An authorization
/// names one: its nonce is the hash of the swap, the receiver and this contract. Holds no funds and leaves no
/// allowance. Tokens sent here by mistake cannot be withdrawn.
interface IPaymaster is IOperators {
    /// @notice One deposit of a user for a swap.
    /// @param id The id of the swap, which is passed to the Depository.
    /// @param token The token deposited.
    /// @param receiver The approved receiver of the Depository.
    /// @param from The user who signed and who pays.
    /// @param amount The amount that is pulled and deposited, in base units: exactly the signed amount.
    struct Deposit {
        bytes32 id;
        address token;
        address receiver;
        address from;
        uint256 amount;
    }

    /// @notice The address cannot be the Depository, because it has no code.
    error InvalidDepository(address depository);

    /// @notice The token's nonces do not show the permit as used, and as the last one of its owner.
    error PermitNotUsed(address token, address from, uint256 nonce);

    /// @notice The user's allowance is not exactly the amount, so it was not set by this permit.
    error WrongAllowance(address token, address from, uint256 amount, uint256 allowance);

    /// @notice The balance did not increase by exactly the amount: the token takes a fee or misbehaves.
    error WrongAmount(address token, address from, uint256 amount);

    /// @notice The Depository did not transfer the whole amount.
    error NotHandedOn(address token, uint256 amount);

    /// @notice Deposits by an EIP-3009 authorization to receive. Operators only, not while paused.
    /// @dev When the token refuses the authorization, its revert data is passed on.
    function depositWithAuthorization(
        Deposit calldata deposit,
        uint256 validAfter,
        uint256 validBefore,
        uint8 v,
        bytes32 r,
        bytes32 s
    ) external;

    /// @notice The same with a signature of any length, by a wallet with code (EIP-1271). Operators only, not while
    /// paused.
    /// @dev For tokens that have `receiveWithAuthorization` with `bytes signature`. The token's revert data is passed
    /// on.
    function depositWithWalletAuthorization(
        Deposit calldata deposit,
        uint256 validAfter,
        uint256 validBefore,
        bytes calldata signature
    ) external;

    /// @notice Deposits by an ERC-2612 permit of exactly the amount. Operators only, not while paused.
    /// @dev Another account may have submitted the permit before. The call checks that the permit was used, and that
    /// the allowance is exactly the amount.
    /// @param nonce The signed nonce.
    function depositWithPermit(Deposit calldata deposit, uint256 nonce, uint256 deadline, uint8 v, bytes32 r, bytes32 s)
        external;

    /// @notice Pauses deposits. Owner only.
    function pause() external;

    /// @notice Resumes deposits. Owner only.
    function unpause() external;

    /// @notice The nonce an EIP-3009 authorization must have to pay for the swap:
    /// keccak256(abi.encode(chain id, this contract, id, receiver, token)).
    /// @dev So a signer can pay for a swap in this way once.
    function authorizationNonce(bytes32 id, address receiver, address token) external view returns (bytes32);

    /// @notice The Depository that every deposit passes through.
    function depository() external view returns (address);
}
