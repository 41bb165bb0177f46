// SPDX-License-Identifier: MIT
pragma solidity 0.8.37;

/// @title DevGasPriceOracle
/// @notice FOR DEVELOPMENT ONLY. ANYONE CAN SAY WHAT IT ANSWERS. Never deploy it to a network whose money counts.
/// @dev Answers like the OP stack's GasPriceOracle, of whose interface it has what is asked for here.
contract DevGasPriceOracle {
    /// @notice Wei that each byte of a transaction costs on the chain below.
    uint256 public feePerByte;

    /// @notice Sets the price of a byte.
    /// @param feePerByte_ In wei.
    function set(uint256 feePerByte_) external {
        feePerByte = feePerByte_;
    }

    /// @notice The most that a transaction's bytes cost.
    /// @param unsignedTxSize How many bytes it has without its signature.
    function getL1FeeUpperBound(uint256 unsignedTxSize) external view returns (uint256) {
        return feePerByte * unsignedTxSize;
    }
}
