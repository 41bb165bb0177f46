// SPDX-License-Identifier: MIT
pragma solidity 0.8.37;

import {Test} from "../Test.sol";
import {DepositAddressHandler} from "./DepositAddressHandler.sol";

contract DepositAddressInvariantTest is Test {
    DepositAddressHandler private handler;

    function setUp() external {
        handler = new DepositAddressHandler();
    }

    function targetContracts() external view returns (address[] memory targets) {
        targets = new address[](1);
        targets[0] = address(handler);
    }

    /// @dev One function checks all invariants, so that one campaign covers them.
    function invariant_G20_DepositAddressesPayOnlyTheTreasury() external view {
        _aSweptAddressHoldsNothing();
        _sweptIsWhatTheTreasuryGained();
        _nothingIsLost();
        _sweepersGainNothing();
        _factoryAndImplementationHoldNothing();
        _plainPaymentsAreAlwaysTaken();
    }

    function _aSweptAddressHoldsNothing() private view {
        assertTrue(!handler.leftSomething(), "nothing is left");
        assertTrue(!handler.toldOfAnotherAddress(), "Swept names the address of its salt");
    }

    function _sweptIsWhatTheTreasuryGained() private view {
        for (uint256 i; i < handler.tokenCount(); ++i) {
            address token = handler.tokens(i);
            assertEq(handler.swept(token), handler.balanceOf(token, address(handler.treasury())));
        }
    }

    /// @dev Except for the fee of the token that takes one.
    function _nothingIsLost() private view {
        for (uint256 i; i < handler.tokenCount(); ++i) {
            address token = handler.tokens(i);
            uint256 known = handler.swept(token) + handler.waiting(token);
            if (i == 1) assertAtMost(known, handler.funded(token));
            else assertEq(known, handler.funded(token));
        }
    }

    function _sweepersGainNothing() private view {
        for (uint256 i; i < handler.tokenCount(); ++i) {
            for (uint256 j; j < handler.callerCount(); ++j) {
                if (handler.callers(j) == address(handler.treasury())) continue;
                assertEq(handler.balanceOf(handler.tokens(i), handler.callers(j)), 0);
            }
        }
    }

    function _factoryAndImplementationHoldNothing() private view {
        for (uint256 i; i < handler.tokenCount(); ++i) {
            assertEq(handler.balanceOf(handler.tokens(i), address(handler.factory())), 0);
            assertEq(handler.balanceOf(handler.tokens(i), handler.factory().implementation()), 0);
        }
    }

    function _plainPaymentsAreAlwaysTaken() private view {
        assertTrue(!handler.refusedAPayment(), "with 2300 gas, deployed or not");
    }
}
