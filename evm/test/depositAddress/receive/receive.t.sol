// SPDX-License-Identifier: MIT
pragma solidity 0.8.37;

import {StipendPayer} from "../../actors/Receivers.sol";
import {DepositAddressFactoryTest} from "../../depositAddressFactory/DepositAddressFactoryTest.sol";

contract DepositAddressReceiveTest is DepositAddressFactoryTest {
    function test_GivenItIsNotDeployed() external {
        new StipendPayer().send{value: 1 ether}(payable(depositAddress));
        assertEq(depositAddress.balance, 1 ether);
    }

    function test_GivenItIsDeployed() external {
        _deploy();
        new StipendPayer().send{value: 1 ether}(payable(depositAddress));
        assertEq(depositAddress.balance, 1 ether);
    }

    function testFuzz_WhenUnknownDataComesWithTheValue(bytes4 selector) external {
        _deploy();
        _isRefused(depositAddress, abi.encodePacked(selector));
    }

    function test_WhenTheImplementationIsPaid() external {
        _isRefused(factory.implementation(), "");
    }

    function _isRefused(address to, bytes memory data) private {
        vm.prank(user);
        (bool paid,) = to.call{value: 1 ether}(data);
        assertTrue(!paid, "refused");
        assertEq(to.balance, 0);
    }
}
