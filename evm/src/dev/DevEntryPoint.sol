// SPDX-License-Identifier: MIT
pragma solidity 0.8.37;

/// @notice What a wallet wants to be called with (ERC-4337).
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
/// @notice FOR DEVELOPMENT ONLY. IT ASKS NO WALLET WHETHER IT SIGNED. Never let a wallet trust it.
/// @dev Stands in for the EntryPoint on local chains: one transaction, operations of several wallets, and one that
/// fails does not stop the others.
contract DevEntryPoint {
    /// @notice An operation was carried out, or failed.
    event UserOperationDone(address indexed sender, uint256 nonce, bool success);

    /// @notice Calls each wallet with what its operation says.
    function handleOps(PackedUserOperation[] calldata ops, address payable) external {
        for (uint256 i = 0; i < ops.length; ++i) {
            (bool success,) = ops[i].sender.call(ops[i].callData);
            emit UserOperationDone(ops[i].sender, ops[i].nonce, success);
        }
    }
}
