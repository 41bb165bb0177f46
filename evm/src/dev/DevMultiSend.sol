// SPDX-License-Identifier: MIT
pragma solidity 0.8.37;

/// @title DevMultiSend
/// @notice FOR DEVELOPMENT ONLY. Replaces Safe's MultiSendCallOnly on local chains; wallets delegate to it.
contract DevMultiSend {
    /// @notice A call reverted.
    error CallFailed(address to);

    /// @notice Makes every call, or reverts.
    /// @param transactions Packed in sequence: operation (1 byte, 0), to (20), value (32), length of the
    /// data (32), data.
    function multiSend(bytes memory transactions) external payable {
        uint256 place = 0;
        while (place < transactions.length) {
            address to;
            uint256 value;
            uint256 length;
            bool succeeded;
            assembly ("memory-safe") {
                let entry := add(add(transactions, 0x20), place)
                to := shr(96, mload(add(entry, 1)))
                value := mload(add(entry, 21))
                length := mload(add(entry, 53))
                succeeded := call(gas(), to, value, add(entry, 85), length, 0, 0)
            }
            if (!succeeded) revert CallFailed(to);
            place += 85 + length;
        }
    }
}
