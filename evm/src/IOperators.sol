// SPDX-License-Identifier: MIT
pragma solidity ^0.8.24;

/// @title IOperators
/// @notice The accounts with operator rights on a contract, which its owner manages.
interface IOperators {
    /// @notice Emitted when an operator is added.
    event OperatorAdded(address indexed operator);

    /// @notice Emitted when an operator is removed.
    event OperatorRemoved(address indexed operator);

    /// @notice The caller is not an operator.
    error NotOperator(address caller);

    /// @notice The address cannot become an operator: it is zero or already an operator.
    error InvalidOperator(address operator);

    /// @notice Grants operator rights to `operator`. Owner only.
    function addOperator(address operator) external;

    /// @notice Revokes the operator rights of `operator`. Owner only.
    function removeOperator(address operator) external;

    /// @notice Whether `account` is an operator.
    function isOperator(address account) external view returns (bool);

    /// @notice Every operator, in no particular order.
    function getOperators() external view returns (address[] memory);
}
