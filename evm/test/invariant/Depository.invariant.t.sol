// SPDX-License-Identifier: MIT
pragma solidity 0.8.37;

import {Test} from "../Test.sol";
import {DepositoryHandler} from "./DepositoryHandler.sol";

contract DepositoryInvariantTest is Test {
    DepositoryHandler private handler;

    function setUp() external {
        handler = new DepositoryHandler();
    }

    function targetContracts() external view returns (address[] memory targets) {
        targets = new address[](1);
        targets[0] = address(handler);
    }

    /// @dev One function checks all invariants, so that one campaign covers them.
    function invariant_G20_TheDepositoryHandsOnWhatItIsGiven() external view {
        _theDepositoryHoldsNothing();
        _depositedIsWhatTheReceiversGained();
        _onlyApprovedReceiversArePaid();
        _aDepositIsOneEvent();
        _nothingIsDepositedWhilePaused();
        _theListIsWhatTheOwnerMadeIt();
        _theDepositoryIsNeverAReceiver();
    }

    function _theDepositoryHoldsNothing() private view {
        assertTrue(!handler.heldSomething(), "nothing after any call");
        for (uint256 i; i < handler.tokenCount(); ++i) {
            assertEq(handler.balanceOf(handler.tokens(i), address(handler.depository())), 0);
        }
    }

    function _depositedIsWhatTheReceiversGained() private view {
        for (uint256 i; i < handler.tokenCount(); ++i) {
            address token = handler.tokens(i);
            for (uint256 j; j < handler.receiverCount(); ++j) {
                address receiver = handler.receivers(j);
                assertEq(handler.deposited(token, receiver), handler.balanceOf(token, receiver));
            }
        }
    }

    function _onlyApprovedReceiversArePaid() private view {
        assertTrue(!handler.paidUnapproved(), "no other address gained");
    }

    function _aDepositIsOneEvent() private view {
        assertTrue(!handler.notOneEvent(), "one event per deposit");
    }

    function _nothingIsDepositedWhilePaused() private view {
        assertTrue(!handler.depositedWhilePaused(), "paused means paused");
    }

    function _theListIsWhatTheOwnerMadeIt() private view {
        uint256 count;
        for (uint256 i; i < handler.receiverCount(); ++i) {
            address receiver = handler.receivers(i);
            bool approved = handler.approved(receiver);
            if (approved) ++count;
            assertTrue(handler.depository().isWhitelisted(receiver) == approved, "listed exactly when approved");
        }
        assertEq(handler.depository().getWhitelistedAddresses().length, count);
    }

    function _theDepositoryIsNeverAReceiver() private view {
        assertTrue(!handler.depository().isWhitelisted(address(handler.depository())), "not itself");
    }
}
