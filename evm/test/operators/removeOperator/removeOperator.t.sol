// SPDX-License-Identifier: MIT
pragma solidity 0.8.37;

import {IOperators} from "../../../src/IOperators.sol";
import {OperatorsTest, PaymasterOperators, TreasuryOperators} from "../OperatorsTest.sol";

abstract contract RemoveOperatorTest is OperatorsTest {
    function testFuzz_RevertWhen_TheCallerIsNotTheOwner(address caller) external {
        if (caller == owner) caller = operator;
        expectNotOwner(caller);
        vm.prank(caller);
        operated.removeOperator(operator);
    }

    function test_RevertGiven_TheAccountIsNotAnOperator() external {
        vm.expectRevert(abi.encodeWithSelector(IOperators.NotOperator.selector, outsider));
        _remove(outsider);
    }

    function test_GivenTheAccountIsAnOperator() external {
        assertTrue(_mayAct(operator), "until now");

        vm.expectEmit(address(operated));
        emit IOperators.OperatorRemoved(operator);
        _remove(operator);

        assertTrue(!_mayAct(operator), "no more");
    }

    function _remove(address account) private {
        vm.prank(owner);
        operated.removeOperator(account);
    }
}

contract TreasuryRemoveOperatorTest is RemoveOperatorTest, TreasuryOperators {}

contract PaymasterRemoveOperatorTest is RemoveOperatorTest, PaymasterOperators {}
