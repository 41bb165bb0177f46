// SPDX-License-Identifier: MIT
pragma solidity 0.8.37;

import {DepositAddressFactory} from "../../../src/DepositAddressFactory.sol";
import {DepositAddressFactoryTest} from "../DepositAddressFactoryTest.sol";

contract AddressOfTest is DepositAddressFactoryTest {
    function testFuzz_GivenTheDepositAddressIsNotDeployed(bytes32 salt) external view {
        bytes32 hash = keccak256(abi.encodePacked(hex"ff", address(factory), salt, factory.initCodeHash()));
        assertEq(factory.addressOf(salt), address(uint160(uint256(hash))));
        assertEq(factory.addressOf(salt).code.length, 0);
    }

    function test_GivenTheDepositAddressIsDeployed() external {
        _deploy();
        assertEq(factory.addressOf(SALT), depositAddress);
        assertEq(depositAddress.code.length, 51);
    }

    function testFuzz_GivenAnotherFactoryOfTheSameTreasury(bytes32 salt) external {
        DepositAddressFactory other = new DepositAddressFactory(address(treasury));
        assertTrue(other.addressOf(salt) != factory.addressOf(salt), "bound to the factory");
    }

    /// @dev The first contract of a new account has the same address on every network.
    function test_GivenAFactoryAtAKnownAddress() external {
        vm.prank(0x1000000000000000000000000000000000000001);
        DepositAddressFactory known = new DepositAddressFactory(address(treasury));
        assertEq(address(known), 0x5DDDfCe53EE040D9EB21AFbC0aE1BB4Dbb0BA643);
        assertEq(known.implementation(), 0xD3264FeD42A0DC00663d0aA2B0AbB90a19b347F2);
        assertTrue(
            known.initCodeHash() == 0x1784d712b549599571bac1627857da7b4e6c164bf432f9c54075b25bc559effb, "init code hash"
        );
        assertEq(known.addressOf(bytes32(uint256(1))), 0x496aF00b1fEC71205c4266AbB61d890c57C41773);
        assertEq(known.addressOf(bytes32(uint256(2 ** 53 - 1))), 0xD11B2DA98C74755660dd52079e3c2Ea769362eD3);
    }
}
