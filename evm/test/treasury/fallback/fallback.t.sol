// SPDX-License-Identifier: MIT
pragma solidity 0.8.37;

import {ITreasury} from "../../../src/ITreasury.sol";
import {TreasuryTest} from "../TreasuryTest.sol";

contract FallbackTest is TreasuryTest {
    function testFuzz_WhenValueComesWithData(uint256 value, uint256 sequenceNumber) external {
        value = between(value, 1, type(uint128).max);
        bytes memory memo = bytes.concat("memo", bytes28(uint224(sequenceNumber)));

        vm.expectEmit(address(treasury));
        emit ITreasury.NativeReceived(outsider, value, memo);
        (bool sent,) = _send(value, memo);
        assertTrue(sent, "taken");
    }

    function test_RevertWhen_TheValueIsZero() external {
        (bool sent, bytes memory reason) = _send(0, "memo");
        assertTrue(!sent, "refused");
        assertTrue(
            keccak256(reason) == keccak256(abi.encodeWithSelector(ITreasury.UnknownCall.selector, bytes4("memo"))),
            "for being unknown"
        );
    }

    function test_RevertWhen_TheDataIsTheSelectorOfAFunction() external {
        (bool sent,) = _send(1 ether, abi.encodeCall(ITreasury.isPaid, (INTENT)));
        assertTrue(!sent, "refused");
    }

    function _send(uint256 value, bytes memory data) private returns (bool sent, bytes memory answer) {
        vm.deal(outsider, value);
        vm.prank(outsider);
        (sent, answer) = address(treasury).call{value: value}(data);
    }
}
