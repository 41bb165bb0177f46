// SPDX-License-Identifier: MIT
pragma solidity 0.8.37;

import {Ownable, Ownable2Step} from "@openzeppelin/contracts/access/Ownable2Step.sol";
import {EnumerableSet} from "@openzeppelin/contracts/utils/structs/EnumerableSet.sol";

import {IOperators} from "./IOperators.sol";

/// @title Operators
/// @notice Operators that an owner manages; see IOperators.
abstract contract Operators is IOperators, Ownable2Step {
    using EnumerableSet for EnumerableSet.AddressSet;

    EnumerableSet.AddressSet private _operators;

    modifier onlyOperator() {
        if (!_operators.contains(msg.sender)) revert NotOperator(msg.sender);
        _;
    }

    constructor(address owner_, address[] memory operators) Ownable(owner_) {
        for (uint256 i; i < operators.length; ++i) {
            _addOperator(operators[i]);
        }
    }

    /// @inheritdoc IOperators
    function addOperator(address operator) external onlyOwner {
        _addOperator(operator);
    }

    /// @inheritdoc IOperators
    function removeOperator(address operator) external onlyOwner {
        if (!_operators.remove(operator)) revert NotOperator(operator);
        emit OperatorRemoved(operator);
    }

    /// @inheritdoc IOperators
    function isOperator(address account) external view returns (bool) {
        return _operators.contains(account);
    }

    /// @inheritdoc IOperators
    function getOperators() external view returns (address[] memory) {
        return _operators.values();
    }

    function _addOperator(address operator) private {
        if (operator == address(0) || !_operators.add(operator)) revert InvalidOperator(operator);
        emit OperatorAdded(operator);
    }
}
