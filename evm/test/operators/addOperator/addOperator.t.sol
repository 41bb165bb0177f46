// SPDX-License-Identifier: MIT
pragma solidity 0.8.37;

import {IOperators} from "../../../src/IOperators.sol";
import {OperatorsTest, PaymasterOperators, TreasuryOperators} from "../OperatorsTest.sol";

abstract contract AddOperatorTest is OperatorsTest {
    function testFuzz_RevertWhen_TheCallerIsNotTheOwner(address caller) external {
        if (caller == owner) caller = operator;
        expectNotOwner(caller);
        vm.prank(caller);
        operated.addOperator(outsider);
    }

    function test_RevertWhen_TheOperatorIsZero() external {
        vm.expectRevert(abi.encodeWithSelector(IOperators.InvalidOperator.selector, address(0)));
        _add(address(0));
    }

    function test_RevertGiven_TheAccountIsAnOperator() external {
        vm.expectRevert(abi.encodeWithSelector(IOperators.InvalidOperator.selector, operator));
        _add(operator);
    }

    function test_GivenTheAccountIsNotAnOperator() external {
        assertTrue(!_mayAct(outsider), "not yet");

        vm.expectEmit(address(operated));
        emit IOperators.OperatorAdded(outsider);
        _add(outsider);

        assertTrue(_mayAct(outsider), "now");
    }

    function _add(address account) private {
        vm.prank(owner);
        operated.addOperator(account);
    }
}

contract TreasuryAddOperatorTest is AddOperatorTest, TreasuryOperators {}

contract PaymasterAddOperatorTest is AddOperatorTest, PaymasterOperators {}
