// SPDX-License-Identifier: MIT
pragma solidity 0.8.37;

/// @title DevAggregator
/// @notice FOR DEVELOPMENT ONLY. ANYONE CAN SET ITS ANSWERS. Never deploy it to a network with real money.
/// @dev Has the interface of a Chainlink price feed (AggregatorV3Interface).
contract DevAggregator {
    /// @notice The decimals of the answer.
    uint8 public immutable decimals;

    uint80 private round;
    int256 private answer;
    uint256 private updatedAt;

    constructor(uint8 decimals_) {
        decimals = decimals_;
    }

    /// @notice Starts another round.
    /// @param answer_ The price, with `decimals`.
    /// @param updatedAt_ The time of the price, in seconds.
    function update(int256 answer_, uint256 updatedAt_) external {
        (round, answer, updatedAt) = (round + 1, answer_, updatedAt_);
    }

    /// @notice The latest round: its id, its answer, its start, the time of its answer, and its id again.
    function latestRoundData() external view returns (uint80, int256, uint256, uint256, uint80) {
        return (round, answer, updatedAt, updatedAt, round);
    }
}
