// SPDX-License-Identifier: MIT
pragma solidity 0.8.37;

import {Test} from "../Test.sol";
import {TreasuryHandler} from "./TreasuryHandler.sol";

contract TreasuryInvariantTest is Test {
    TreasuryHandler private handler;

    function setUp() external {
        handler = new TreasuryHandler();
    }

    function targetContracts() external view returns (address[] memory targets) {
        targets = new address[](1);
        targets[0] = address(handler);
    }

    /// @dev One function checks all invariants, so that one campaign covers them.
    function invariant_G20_TheTreasuryPaysOnceAndWithinItsLimits() external view {
        _noIntentIsPaidTwice();
        _outflowStaysUnderItsLimit();
        _availableNeverExceedsTheLimit();
        _inventoryIsWhatCameInLessWhatWentOut();
        _recipientsGainedWhatWasPaid();
        _onlyOperatorsPay();
        _nothingIsPaidWhilePaused();
        _aBatchIsPaidWholeOrNotAtAll();
        _aTokenWithoutALimitNeverFlowsOut();
    }

    function _noIntentIsPaidTwice() private view {
        for (uint256 i; i < handler.intentCount(); ++i) {
            uint256 intentId = handler.intentIdAt(i);
            assertEq(handler.timesPaid(intentId), handler.treasury().isPaid(intentId) ? 1 : 0);
        }
    }

    function _outflowStaysUnderItsLimit() private view {
        assertTrue(!handler.exceededLimit(), "within the limit over every span");
    }

    function _availableNeverExceedsTheLimit() private view {
        for (uint256 i; i < handler.tokenCount(); ++i) {
            address token = handler.tokens(i);
            (uint256 limit,) = handler.treasury().outflowLimit(token);
            assertAtMost(handler.treasury().outflowAvailable(token), limit);
        }
    }

    function _inventoryIsWhatCameInLessWhatWentOut() private view {
        for (uint256 i; i < handler.tokenCount(); ++i) {
            address token = handler.tokens(i);
            uint256 cameIn = handler.funded(token) + (token == address(0) ? handler.nativeReceived() : 0);
            assertEq(
                handler.balanceOf(token, address(handler.treasury())) + handler.spent(token) + handler.withdrawn(token),
                cameIn
            );
        }
    }

    function _recipientsGainedWhatWasPaid() private view {
        for (uint256 i; i < handler.tokenCount(); ++i) {
            address token = handler.tokens(i);
            for (uint256 j; j < handler.recipientCount(); ++j) {
                address recipient = handler.recipients(j);
                assertEq(handler.balanceOf(token, recipient), handler.paid(token, recipient));
            }
        }
    }

    function _onlyOperatorsPay() private view {
        assertTrue(!handler.paidByAnotherThanAnOperator(), "operators only");
    }

    function _nothingIsPaidWhilePaused() private view {
        assertTrue(!handler.paidWhilePaused(), "paused means paused");
    }

    function _aBatchIsPaidWholeOrNotAtAll() private view {
        assertTrue(!handler.paidOnlyPartOfABatch(), "all or nothing");
    }

    function _aTokenWithoutALimitNeverFlowsOut() private view {
        assertEq(handler.spent(handler.tokens(handler.tokenCount() - 1)), 0);
    }
}
