// SPDX-License-Identifier: MIT
pragma solidity 0.8.37;

import {Depository} from "../../../src/Depository.sol";
import {ITreasury} from "../../../src/ITreasury.sol";
import {StipendPayer} from "../../actors/Receivers.sol";
import {TreasuryTest} from "../TreasuryTest.sol";

contract ReceiveTest is TreasuryTest {
    function testFuzz_WhenAPlainTransferComes(uint256 value) external {
        value = between(value, 1, type(uint128).max);
        _receive(value);
    }

    function test_WhenOnlyTheGasOfAStipendIsGiven() external {
        StipendPayer payer = new StipendPayer();
        vm.deal(outsider, 1 ether);
        _expectReceived(address(payer), 1 ether);
        vm.prank(outsider);
        payer.send{value: 1 ether}(payable(treasury));
    }

    function test_GivenADepositoryForwardsADeposit() external {
        address[] memory receivers = new address[](1);
        receivers[0] = address(treasury);
        Depository depository = new Depository(owner, receivers);
        vm.deal(outsider, 1 ether);

        _expectReceived(address(depository), 1 ether);
        vm.prank(outsider);
        depository.depositNative{value: 1 ether}(bytes32(uint256(7)), address(treasury));
    }

    function test_GivenItIsPaused() external {
        _pause();
        _receive(1 ether);
    }

    function _receive(uint256 value) private {
        uint256 inventory = address(treasury).balance;
        vm.deal(outsider, value);
        _expectReceived(outsider, value);
        vm.prank(outsider);
        (bool sent,) = address(treasury).call{value: value}("");
        assertTrue(sent, "taken");
        assertEq(address(treasury).balance, inventory + value);
    }

    function _expectReceived(address from, uint256 value) private {
        vm.expectEmit(address(treasury));
        emit ITreasury.NativeReceived(from, value, "");
    }
}
