// SPDX-License-Identifier: MIT
pragma solidity ^0.8.24;

/// @title IOperators
/// @notice The accounts that do a contract's daily work, named by its owner.
interface IOperators {
    /// @notice Emitted when an address becomes an operator.
    event OperatorAdded(address indexed operator);

    /// @notice Emitted when an address stops being an operator.
    event OperatorRemoved(address indexed operator);

    /// @notice The caller is not an operator.
    error NotOperator(address caller);

    /// @notice The address cannot be made an operator: it is zero, or one already.
    error InvalidOperator(address operator);

    /// @notice Lets `operator` do what only operators may. Owner only.
    function addOperator(address operator) external;

    /// @notice Stops `operator` from doing it. Owner only.
    function removeOperator(address operator) external;

    /// @notice Whether `account` is an operator.
    function isOperator(address account) external view returns (bool);

    /// @notice Every operator, in no particular order.
    function getOperators() external view returns (address[] memory);
}
