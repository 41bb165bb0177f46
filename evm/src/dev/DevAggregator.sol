// SPDX-License-Identifier: MIT
pragma solidity 0.8.37;

/// @title DevAggregator
/// @notice FOR DEVELOPMENT ONLY. ANYONE CAN SAY WHAT IT ANSWERS. Never deploy it to a network whose money counts.
/// @dev Answers like a price feed of Chainlink's, whose interface (AggregatorV3Interface) it has.
contract DevAggregator {
    /// @notice Decimals of the answer.
    uint8 public immutable decimals;

    uint80 private round;
    int256 private answer;
    uint256 private updatedAt;

    constructor(uint8 decimals_) {
        decimals = decimals_;
    }

    /// @notice Begins another round.
    /// @param answer_ The price, with `decimals`.
    /// @param updatedAt_ When it was true, in seconds.
    function update(int256 answer_, uint256 updatedAt_) external {
        (round, answer, updatedAt) = (round + 1, answer_, updatedAt_);
    }

    /// @notice The newest round: its id, its answer, when it began, when it was answered, and again its id.
    function latestRoundData() external view returns (uint80, int256, uint256, uint256, uint80) {
        return (round, answer, updatedAt, updatedAt, round);
    }
}
