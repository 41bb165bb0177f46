// SPDX-License-Identifier: MIT
pragma solidity 0.8.37;

import {Depository} from "../../src/Depository.sol";
import {IOperators} from "../../src/IOperators.sol";
import {IPaymaster} from "../../src/IPaymaster.sol";
import {ITreasury} from "../../src/ITreasury.sol";
import {Operators} from "../../src/Operators.sol";
import {Paymaster} from "../../src/Paymaster.sol";
import {Treasury} from "../../src/Treasury.sol";
import {Test} from "../Test.sol";

/// @notice A contract with one operator. Every test here runs for each contract with operators.
abstract contract OperatorsTest is Test {
    address internal immutable owner = named("owner");
    address internal immutable operator = named("operator");
    address internal immutable outsider = named("outsider");

    Operators internal operated;

    function setUp() public {
        address[] memory operators = new address[](1);
        operators[0] = operator;
        operated = _create(operators);
    }

    function _create(address[] memory operators) internal virtual returns (Operators);

    /// @dev Call data of a function that only operators may call.
    function _operatorsCall() internal pure virtual returns (bytes memory);

    /// @dev Only the check of the caller is tested here.
    function _mayAct(address caller) internal returns (bool) {
        vm.prank(caller);
        (bool succeeded, bytes memory reason) = address(operated).call(_operatorsCall());
        bytes memory refusal = abi.encodeWithSelector(IOperators.NotOperator.selector, caller);
        return succeeded || keccak256(reason) != keccak256(refusal);
    }
}

abstract contract TreasuryOperators is OperatorsTest {
    function _create(address[] memory operators) internal override returns (Operators) {
        return new Treasury(owner, operators);
    }

    function _operatorsCall() internal pure override returns (bytes memory) {
        return abi.encodeCall(ITreasury.payBatch, (new ITreasury.Payment[](0)));
    }
}

abstract contract PaymasterOperators is OperatorsTest {
    function _create(address[] memory operators) internal override returns (Operators) {
        return new Paymaster(owner, address(new Depository(owner, new address[](0))), operators);
    }

    function _operatorsCall() internal pure override returns (bytes memory) {
        IPaymaster.Deposit memory deposit;
        return abi.encodeCall(IPaymaster.depositWithAuthorization, (deposit, 0, 0, 0, 0, 0));
    }
}
