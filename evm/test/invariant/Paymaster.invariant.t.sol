// SPDX-License-Identifier: MIT
pragma solidity 0.8.37;

import {IERC20} from "@openzeppelin/contracts/token/ERC20/IERC20.sol";

import {Test} from "../Test.sol";
import {PaymasterHandler} from "./PaymasterHandler.sol";

contract PaymasterInvariantTest is Test {
    PaymasterHandler private handler;

    function setUp() external {
        handler = new PaymasterHandler();
    }

    function targetContracts() external view returns (address[] memory targets) {
        targets = new address[](1);
        targets[0] = address(handler);
    }

    /// @dev One function checks all invariants, so that one campaign covers them.
    function invariant_G20_ThePaymasterHandsOnWhatUsersSignedFor() external view {
        _itHoldsNothingButWhatWasSentByMistake();
        _itLeavesNoAllowance();
        _whatUsersMissIsWhatReceiversHave();
        _nothingIsDepositedThatWasNotSignedFor();
        _onlyOperatorsDepositAndOnlyForApprovedReceivers();
    }

    function _itHoldsNothingButWhatWasSentByMistake() private view {
        for (uint256 i; i < handler.tokenCount(); ++i) {
            address token = handler.tokens(i);
            assertEq(IERC20(token).balanceOf(address(handler.paymaster())), handler.sent(token));
            assertEq(IERC20(token).balanceOf(address(handler.depository())), 0);
        }
    }

    function _itLeavesNoAllowance() private view {
        assertTrue(!handler.keptAnAllowance(), "after any call");
    }

    function _whatUsersMissIsWhatReceiversHave() private view {
        assertTrue(!handler.movedAnotherAmount(), "after any call");
        for (uint256 i; i < handler.tokenCount(); ++i) {
            address token = handler.tokens(i);
            assertEq(handler.missing(token), handler.deposited(token));
            assertEq(handler.received(token), handler.deposited(token));
        }
    }

    function _nothingIsDepositedThatWasNotSignedFor() private view {
        assertTrue(!handler.depositedUnsigned(), "the swap, receiver and amount that were signed");
        assertTrue(!handler.depositedTwice(), "an authorization once");
    }

    function _onlyOperatorsDepositAndOnlyForApprovedReceivers() private view {
        assertTrue(!handler.depositedByAnotherThanAnOperator(), "operators only");
        assertTrue(!handler.depositedWhilePaused(), "paused means paused");
        assertTrue(!handler.paidUnapproved(), "no other address gained");
    }
}
