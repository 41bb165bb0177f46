// SPDX-License-Identifier: MIT
pragma solidity 0.8.37;

/// @notice The operation that a wallet is called with (ERC-4337).
struct PackedUserOperation {
    address sender;
    uint256 nonce;
    bytes initCode;
    bytes callData;
    bytes32 accountGasLimits;
    uint256 preVerificationGas;
    bytes32 gasFees;
    bytes paymasterAndData;
    bytes signature;
}

/// @title DevEntryPoint
/// @notice FOR DEVELOPMENT ONLY. IT CHECKS NO SIGNATURE. No wallet may trust it.
/// @dev Replaces the EntryPoint on local chains: one transaction with operations of several wallets. A failed operation
/// does not stop the others.
contract DevEntryPoint {
    /// @notice Emitted for each operation, executed or failed.
    event UserOperationDone(address indexed sender, uint256 nonce, bool success);

    /// @notice Calls each wallet with the call data of its operation.
    function handleOps(PackedUserOperation[] calldata ops, address payable) external {
        for (uint256 i = 0; i < ops.length; ++i) {
            (bool success,) = ops[i].sender.call(ops[i].callData);
            emit UserOperationDone(ops[i].sender, ops[i].nonce, success);
        }
    }
}
