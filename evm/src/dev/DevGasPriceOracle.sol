// SPDX-License-Identifier: MIT
pragma solidity 0.8.37;

/// @title DevGasPriceOracle
/// @notice FOR DEVELOPMENT ONLY. ANYONE CAN SET ITS ANSWERS. Never deploy it to a network with real money.
/// @dev Has the functions of the OP stack's GasPriceOracle that the service calls.
contract DevGasPriceOracle {
    /// @notice The cost of each byte of a transaction on the base chain, in wei.
    uint256 public feePerByte;

    /// @notice Sets the price of a byte.
    /// @param feePerByte_ In wei.
    function set(uint256 feePerByte_) external {
        feePerByte = feePerByte_;
    }

    /// @notice The maximum cost of a transaction's bytes.
    /// @param unsignedTxSize The size of the transaction without its signature, in bytes.
    function getL1FeeUpperBound(uint256 unsignedTxSize) external view returns (uint256) {
        return feePerByte * unsignedTxSize;
    }
}
