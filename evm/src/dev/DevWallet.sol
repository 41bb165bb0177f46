// SPDX-License-Identifier: MIT
pragma solidity 0.8.37;

/// @title DevWallet
/// @notice FOR DEVELOPMENT ONLY. ANYONE CAN SPEND WHAT IT HOLDS. Never deploy it to a network with real money.
/// @dev Replaces smart accounts and multicalls on local chains: its payments come from a contract.
contract DevWallet {
    /// @notice A call reverted.
    error CallFailed(address to);

    receive() external payable {}

    /// @notice Makes every call for any caller, or reverts.
    /// @param calls Packed in sequence: to (20 bytes), value (32), length of the data (32), data.
    function execute(bytes calldata calls) external payable {
        while (calls.length != 0) {
            address to = address(bytes20(calls));
            uint256 end = 84 + uint256(bytes32(calls[52:]));
            (bool succeeded,) = to.call{value: uint256(bytes32(calls[20:]))}(calls[84:end]);
            if (!succeeded) revert CallFailed(to);
            calls = calls[end:];
        }
    }

    /// @notice Makes one call as a Safe does, for any caller: signatures are not checked.
    /// @param operation 0 for a call, 1 for a delegatecall.
    function execTransaction(
        address to,
        uint256 value,
        bytes calldata data,
        uint8 operation,
        uint256,
        uint256,
        uint256,
        address,
        address payable,
        bytes calldata
    ) external payable returns (bool succeeded) {
        (succeeded,) = operation == 0 ? to.call{value: value}(data) : to.delegatecall(data);
        if (!succeeded) revert CallFailed(to);
    }

    /// @notice A call of a batch.
    struct Call {
        address to;
        uint256 value;
        bytes data;
    }

    /// @notice Makes every call as a smart account does, for any caller, or reverts.
    function executeBatch(Call[] calldata calls) external payable {
        for (uint256 i = 0; i < calls.length; ++i) {
            (bool succeeded,) = calls[i].to.call{value: calls[i].value}(calls[i].data);
            if (!succeeded) revert CallFailed(calls[i].to);
        }
    }
}
